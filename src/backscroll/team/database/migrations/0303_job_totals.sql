-- What workers have done since the server was set up, by kind of job: for /metrics.
create table job_total (
  kind text primary key,
  done bigint not null default 0,
  failed bigint not null default 0,
  seconds double precision not null default 0
);
