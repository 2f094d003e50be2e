{{- define "backscroll.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}-backscroll
{{- end }}

{{- define "backscroll.selector" -}}
app.kubernetes.io/name: backscroll
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "backscroll.labels" -}}
{{ include "backscroll.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "backscroll.image" -}}
{{ required "set image.repository" .Values.image.repository }}:{{ required "set image.tag" .Values.image.tag }}
{{- end }}

{{/* What every pod of the server has. */}}
{{- define "backscroll.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
serviceAccountName: {{ .Values.serviceAccountName }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What every container of the server has. */}}
{{- define "backscroll.container" -}}
image: {{ include "backscroll.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: data, mountPath: /data}
  - {name: tmp, mountPath: /tmp}
{{- with .Values.objects.keysSecret }}
envFrom:
  - secretRef: {name: {{ . | quote }}}
{{- end }}
{{- end }}

{{- define "backscroll.environment" -}}
# A folder that the server makes itself, for its user only: the volume's own belongs to the cluster.
- {name: BACKSCROLL_DATA, value: /data/server}
- {name: BACKSCROLL_OBJECTS, value: {{ required "set objects.address" .Values.objects.address | quote }}}
{{- with .Values.objects.region }}
- {name: AWS_REGION, value: {{ . | quote }}}
{{- end }}
{{- with .Values.objects.endpoint }}
- {name: AWS_ENDPOINT_URL, value: {{ . | quote }}}
{{- end }}
{{- end }}

{{/* As whom worker and migrate connect. */}}
{{- define "backscroll.owner" -}}
- {name: BACKSCROLL_DATABASE, value: {{ required "set database.address" .Values.database.address | quote }}}
- name: PGPASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ required "set database.passwordSecret.name" .Values.database.passwordSecret.name | quote }}
      key: {{ .Values.database.passwordSecret.key | quote }}
{{- end }}
