"""One session from its first prompt to its last: turns, responses, tools, sub-agents, compactions, rewinds.

A story writes through a Home, which may be a directory being generated or a queue that `play` empties slowly.
"""

from dataclasses import replace

from bench.generator.margins import GeneratedWorld, Margins
from bench.generator.rows import GeneratedTranscript, GeneratingClient, new_id, new_uuid, stamp
from bench.generator.tools import GeneratedCall, GeneratedTask, first_lines

_PROBLEMS_INSIDE = ("glued", "corrupt", "nul")


class Story(Margins):
    """Tells one session, or one sub-agent of it, into a transcript.

    `folder` is the session's project folder relative to the home, `budget` the bytes it may take; turns are told
    until they are used.
    """

    def __init__(
        self,
        world: GeneratedWorld,
        transcript: GeneratedTranscript,
        *,
        folder: str,
        budget: int,
        model: str,
        language: str = "en",
        problem: str = "",
        depth: int = 0,
    ) -> None:
        super().__init__(world, transcript, folder=folder, budget=budget, language=language)
        self.model = model
        self.problem = problem
        self.depth = depth
        self.tokens_in_context = 14_000 + int(self.rng.random() * 9_000)
        self._tool_uses = 0
        self._turn_starts: list[str] = []
        self._rewind_in = 1 + int(self.rng.random() * 2) if self.rng.random() < world.mix.rewinds else 0
        self._compact_at = self._plan_compactions()

    def tell(self) -> None:
        """Write the whole session."""
        self._begin()
        while True:
            self.turn()
            if self.spent >= self.budget:
                break
            self._pause()
        if self._modern:
            self._metadata()

    def turn(self) -> None:
        """One prompt and everything up to the answer."""
        started = self.transcript.now
        if not self._rewound():
            self._before_prompt()
        self._prompt()
        responses = 1 + int(self.rng.expovariate(1 / 5.6))
        for _ in range(responses):
            if not self._respond() or self.spent >= self.budget:
                break
            if self._compact_at and self.spent > self._compact_at[0]:
                self._compact_at.pop(0)
                self._compact()
        self._answer()
        self._end_turn(started)

    # How a session and a turn begin.

    def _begin(self) -> None:
        transcript, client = self.transcript, self.transcript.client
        if client.progress and self.rng.random() < 0.6:
            hook = '"type":"hook_progress","hookEvent":"SessionStart","hookName":"SessionStart","command":"make env"'
            transcript.progress(hook, new_uuid(self.rng))
        if self._modern:
            self._metadata(first=True)

    def _before_prompt(self) -> None:
        if self.transcript.client.number >= (2, 0, 28) and self.rng.random() < 0.42:
            self._queue()
        if self.rng.random() < 0.05:
            self._slash_command()
        if self.transcript.last:
            self._turn_starts = [*self._turn_starts[-3:], self.transcript.last]

    def _prompt(self) -> None:
        rng, transcript, client = self.rng, self.transcript, self.transcript.client
        text = self.texts.prompt(rng, self.tools.length(110, 1.2), self.language)
        content = f'"{text}"'
        if rng.random() < self.world.mix.images / 4 and self.tools.largest > 3_000:
            self.tally.events["images"] += 1
            image = f'{{"type":"base64","media_type":"image/png","data":"{self.tools.picture()}"}}'
            content = f'[{{"type":"image","source":{image}}},{{"type":"text","text":"{text}"}}]'
        elif rng.random() < 0.3:
            content = f'[{{"type":"text","text":"{text}"}}]'
        extra = ""
        if self._modern:
            extra = f',"promptId":"{new_uuid(rng)}","permissionMode":"default","origin":{{"kind":"human"}}'
        elif client.number >= (2, 0, 50):
            extra = ',"thinkingMetadata":{"level":"high","disabled":false,"triggers":[]},"todos":[]'
        parent = transcript.last
        if self.problem == "orphan":
            self._planted()
            parent = new_uuid(rng)
        prompt = transcript.user(content, extra, parent=parent)
        self.prompts.append((transcript.now, text))
        if client.snapshots and rng.random() < 0.85:
            self._snapshot(prompt, update=False)
        if self.problem in _PROBLEMS_INSIDE:
            self._plant()
        if self._modern:
            for _ in range(int(rng.random() * 3)):
                self._attach()

    def _plant(self) -> None:
        """Damage the file here, in the middle of its first turn, so that good lines stand on both sides."""
        write = self.transcript.sink.write
        if self.problem == "nul":
            write(b"\0" * (512 + int(self.rng.random() * 3584)))
        elif self.problem == "corrupt":
            write(b'{"parentUuid":"REDACTED,"isSidechain":false,"type":"user","message":{"role":"us\n')
        else:
            # Two complete records on one line: the newline between them was lost.
            now, session = stamp(self.transcript.now), self.transcript.session_id
            row = f'{{"type":"queue-operation","operation":"dequeue","timestamp":"{now}","sessionId":"{session}"}}'
            self.tally.records["queue-operation"] += 2
            write(f"{row}{row}\n".encode())
        self._planted()

    def _planted(self) -> None:
        self.tally.problems[self.problem] += 1
        self.problem = ""

    def _rewound(self) -> bool:
        """Go back to where one of the last turns began, if this session rewinds and the time has come."""
        if not self._rewind_in or len(self._turn_starts) < 2:
            return False
        self._rewind_in -= 1
        if self._rewind_in:
            return False
        transcript = self.transcript
        transcript.last = self._turn_starts[-1 - int(self.rng.random() * min(2, len(self._turn_starts)))]
        self.tally.events["rewinds"] += 1
        if transcript.client.number >= (2, 1, 120):
            lead = f'"leafUuid":"{transcript.last}","explicit":true,"rewound":true'
            transcript.apart("last-prompt", f'{lead},"sessionId":"{transcript.session_id}"')
        return True

    # What the model says and does.

    def _respond(self) -> bool:
        """One API response with its tool results; False ends the turn."""
        rng, transcript = self.rng, self.transcript
        blocks: list[str] = []
        calls: list[tuple[GeneratedCall | GeneratedTask, str]] = []
        if rng.random() < 0.39:
            blocks.append(self._thinking())
        if rng.random() < 0.40:
            text = self.texts.prose(rng, self.tools.length(110, 1.0), self.language if rng.random() < 0.7 else "en")
            blocks.append(f'{{"type":"text","text":"{text}"}}')
        spoken = len(blocks)
        roll = rng.random()
        for _ in range(1 if roll < 0.88 else 2 if roll < 0.95 else 3 + int(rng.random() * 3)):
            use_id = new_id(rng, "toolu")
            agent = rng.random() < self.world.mix.agents and self.depth < 2 and self.budget - self.spent > 25_000
            call = self.tools.task() if agent else self.tools.call()
            name, arguments = (
                (_agent_tool(transcript.client), _task_json(call)) if isinstance(call, GeneratedTask) else call[:2]
            )
            calls.append((call, use_id))
            blocks.append(f'{{"type":"tool_use","id":"{use_id}","name":"{name}","input":{arguments}}}')
        self._tool_uses += len(calls)
        early = (
            len(calls) == 1 and isinstance(calls[0][0], GeneratedCall) and rng.random() < self.world.mix.early_results
        )
        rows = self._write_blocks(blocks, "tool_use", hold_last=early)
        return self._results(calls, rows[spoken:], early=early)

    def _answer(self) -> None:
        """The response that ends a turn: text alone."""
        rng = self.rng
        language = self.language if rng.random() < 0.8 else "en"
        text = self.texts.prose(rng, self.tools.length(500, 0.9), language)
        thoughts = [self._thinking()] if rng.random() < 0.35 else []
        self._write_blocks([*thoughts, f'{{"type":"text","text":"{text}"}}'], "end_turn")

    def _write_blocks(self, blocks: list[str], stop: str, *, hold_last: bool = False) -> list[str]:
        """One row for each block, all of one message; returns the row of each block."""
        rng, transcript, client = self.rng, self.transcript, self.transcript.client
        transcript.wait(900, 14_000)
        size = sum(len(block) for block in blocks)
        output = size // 4 + 20
        created = int(rng.random() ** 3 * 9_000) + 90
        self.tokens_in_context = min(190_000, self.tokens_in_context + created)
        opening = (
            f'"message":{{"model":"{self.model}","id":"{new_id(rng, "msg")}","type":"message","role":"assistant",'
            f'"content":['
        )
        tokens = (
            f'"usage":{{"input_tokens":{2 + int(rng.random() * 9)},"cache_creation_input_tokens":{created},'
            f'"cache_read_input_tokens":{self.tokens_in_context},"cache_creation":'
            f'{{"ephemeral_5m_input_tokens":{created},"ephemeral_1h_input_tokens":0}},"output_tokens":'
        )
        geography = ',"inference_geo":"not_available"' if client.number >= (2, 1, 39) else ""
        request = f',"requestId":"{new_id(rng, "req")}"' if rng.random() < 0.9 else ""
        final = f',"service_tier":"standard"{geography}}}}}{request},"type":"assistant"'
        reason = "null" if client.placeholders and rng.random() < 0.8 else f'"{stop}"'
        early = last = f'],"stop_reason":{reason},"stop_sequence":null,{tokens}{output}{final}'
        if client.placeholders and len(blocks) > 1 and rng.random() < 0.37:
            early = f'],"stop_reason":null,"stop_sequence":null,{tokens}{1 + int(rng.random() * 8)}{final}'
        if client.number < (1, 0, 60) and len(blocks) > 1 and rng.random() < 0.25:
            return [transcript.assistant(",".join(blocks), opening, last)] * len(blocks)
        rows = []
        for block in blocks[:-1]:
            rows.append(transcript.assistant(block, opening, early))
            transcript.wait(20, 1_500)
        transcript.hold_next = hold_last
        rows.append(transcript.assistant(blocks[-1], opening, last))
        return rows

    def _thinking(self) -> str:
        rng = self.rng
        signature = self.texts.base64(rng, self.tools.length(420, 0.5)) + "GAE="
        text = ""
        if self.transcript.client.number <= (2, 1, 100):
            text = self.texts.prose(rng, self.tools.length(560, 1.5))
        return f'{{"type":"thinking","thinking":"{text}","signature":"{signature}"}}'

    def _results(self, calls: list[tuple[GeneratedCall | GeneratedTask, str]], rows: list[str], *, early: bool) -> bool:
        rng, transcript = self.rng, self.transcript
        order = list(zip(calls, rows, strict=True))
        if len(order) > 1 and rng.random() < 0.25:
            rng.shuffle(order)
        answered = False
        for (call, use_id), row in order:
            if not early and rng.random() < self.world.mix.missing_results:
                self.tally.events["missing_results"] += 1
                continue
            if transcript.client.progress and not early:
                self._progress(call, use_id)
            self._result(call, use_id, row)
            answered = True
            if self._modern and rng.random() < 0.31:
                self._attach()
        if not answered:
            transcript.last = rows[-1]
            transcript.user('[{"type":"text","text":"[Request interrupted by user for tool use]"}]')
        return answered

    def _result(self, call: GeneratedCall | GeneratedTask, use_id: str, row: str) -> None:
        rng, transcript, client = self.rng, self.transcript, self.transcript.client
        if isinstance(call, GeneratedTask):
            call = self._run_agent(call, use_id)
        elif client.spills and len(call.output) > 30_000:
            call = self._spill(call, use_id)
        transcript.wait(30, 6_000)
        failed = ',"is_error":true' if call.failed else ',"is_error":false' if call.name == "Bash" else ""
        content = f'[{{"tool_use_id":"{use_id}","type":"tool_result","content":{call.content}{failed}}}]'
        # The client leaves it out now and then; agents' rows more often than not.
        bare = rng.random() < (0.6 if transcript.agent_id else 0.02)
        extra = "" if bare else f',"toolUseResult":{call.result}'
        if client.number >= (2, 1, 17):
            extra += f',"sourceToolAssistantUUID":"{row}"'
        result = transcript.user(content, extra, parent=row)
        if call.image:
            self.tally.events["images"] += 1
        if call.path and client.snapshots and not transcript.agent_id:
            self._back_up(call)
            if rng.random() < 0.1:
                self._snapshot(result, update=True)

    def _progress(self, call: GeneratedCall | GeneratedTask, use_id: str) -> None:
        rng, transcript = self.rng, self.transcript
        if isinstance(call, GeneratedCall) and call.name == "Bash" and rng.random() < 0.54:
            shown = "" if rng.random() < 0.5 else first_lines(call.output, 9_000)
            lines = shown.count("\\n")
            for second in range(2, 3 + int(rng.expovariate(1 / 6))):
                transcript.wait(900, 1_100)
                data = f'"type":"bash_progress","output":"","fullOutput":"{shown}","elapsedTimeSeconds":{second}'
                transcript.progress(f'{data},"totalLines":{lines}', use_id)
        elif isinstance(call, GeneratedCall) and rng.random() < 0.33:
            event = rng.choice(("PostToolUse", "PreToolUse"))
            data = f'"type":"hook_progress","hookEvent":"{event}","hookName":"{event}:{call.name}","command":"callback"'
            transcript.progress(data, use_id)

    # Sub-agents.

    def _run_agent(self, task: GeneratedTask, use_id: str) -> GeneratedCall:
        """Tell the sub-agent's story where this client puts it, and give the call with the agent's answer."""
        rng, transcript, client = self.rng, self.transcript, self.transcript.client
        agent_id = f"{rng.getrandbits(32):08x}" if client.agents != "under" else f"a{rng.getrandbits(64):016x}"
        room = min(self.budget - self.spent, 400_000)
        budget = int(min(room * 0.7, 45_000 * rng.lognormvariate(0.0, 0.8)))
        under = f"{self.folder}/{transcript.session_id}/subagents"
        if client.agents == "under" and self._modern and rng.random() < 0.06:
            self.tally.events["workflows"] += 1
            under += f"/workflows/wf_{rng.getrandbits(32):08x}"
            journal = f'{{"type":"started","agentId":"{agent_id}"}}\n{{"type":"result","agentId":"{agent_id}"}}\n'
            self.world.home.put(f"{under}/journal.jsonl", journal, transcript.now)
        story = self._agent_story(agent_id, under, budget)
        first = story.transcript.user(f'"{task.prompt}"')
        started = transcript.now
        while True:
            row = story.transcript.last
            if not story._respond() or story.spent >= budget:
                break
            if client.progress:
                self._agent_progress(task, agent_id, use_id, row or first)
        story._answer()
        transcript.now = story.transcript.now
        self.tally.events["agents"] += 1
        if client.agents != "inline":
            self.spent_elsewhere += story.spent
            self.world.home.close(story.transcript.sink, transcript.now)
        if client.number >= (2, 1, 70):
            meta = f'{{"agentType":"{task.kind}","description":"{task.description}","toolUseId":"{use_id}"'
            meta += f',"parentAgentId":"{transcript.agent_id}","spawnDepth":{self.depth + 1}}}' if self.depth else "}"
            self.world.home.put(f"{under}/agent-{agent_id}.meta.json", meta, transcript.now)
        answer = self.texts.prose(rng, self.tools.length(2_500, 0.8))
        blocks = f'[{{"type":"text","text":"{answer}"}}]'
        named = f'"agentId":"{agent_id}",' if client.agents != "inline" else ""
        result = (
            f'{{"status":"completed","prompt":"{task.prompt}",{named}"content":{blocks},'
            f'"totalDurationMs":{transcript.now - started},"totalTokens":{story.tokens_in_context},'
            f'"totalToolUseCount":{story._tool_uses},"usage":{{"input_tokens":4,"cache_creation_input_tokens":310,'
            f'"cache_read_input_tokens":{story.tokens_in_context},"output_tokens":{len(answer) // 4}}}}}'
        )
        return GeneratedCall(_agent_tool(client), "", blocks, result)

    def _agent_story(self, agent_id: str, under: str, budget: int) -> "Story":
        parent, client = self.transcript, self.transcript.client
        if client.agents == "inline":
            sink = parent.sink
            # The main file grows with an inline agent, so the agent's budget counts from where it stands.
            budget += sink.size
        else:
            name = f"agent-{agent_id}.jsonl"
            sink = self.world.home.open(f"{self.folder}/{name}" if client.agents == "beside" else f"{under}/{name}")
        transcript = GeneratedTranscript(
            sink,
            self.tally,
            self.rng,
            client=client,
            session_id=parent.session_id,
            cwd=parent.cwd,
            branch=parent.branch,
            slug=parent.slug,
            now=parent.now,
            agent_id=agent_id,
        )
        calm = replace(self.world.mix, rewinds=0.0, compactions=0.0)
        world = replace(self.world, mix=calm)
        return Story(world, transcript, folder=self.folder, budget=budget, model=self.model, depth=self.depth + 1)

    def warm_up(self) -> None:
        """The stub of an agent that 2.0.x made at a start: a "Warmup" prompt and a greeting."""
        story = self._agent_story(f"{self.rng.getrandbits(32):08x}", "", 0)
        story.transcript.user('"Warmup"')
        story._answer()
        self.spent_elsewhere += story.spent
        self.tally.events["agents"] += 1
        self.tally.events["warmups"] += 1
        self.world.home.close(story.transcript.sink, story.transcript.now)

    def _agent_progress(self, task: GeneratedTask, agent_id: str, use_id: str, row: str) -> None:
        now = stamp(self.transcript.now)
        text = self.texts.prose(self.rng, self.tools.length(1_800, 1.4))
        message = f'{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}'
        data = (
            f'"message":{message},"uuid":"{row}","timestamp":"{now}"}},"normalizedMessages":[],'
            f'"type":"agent_progress","prompt":"{task.prompt}","agentId":"{agent_id}"'
        )
        self.transcript.progress(data, use_id)

    def _pause(self) -> None:
        """Between two turns: minutes mostly, a night now and then."""
        if self.rng.random() < 0.05:
            self.transcript.wait(6 * 3_600_000, 20 * 3_600_000)
        else:
            self.transcript.wait(4_000, 600_000)

    def _plan_compactions(self) -> list[int]:
        if self.budget < 60_000 or self.rng.random() >= self.world.mix.compactions:
            return []
        count = 1 if self.rng.random() < 0.72 else 2
        return sorted(int(self.budget * (0.3 + 0.6 * self.rng.random())) for _ in range(count))

    def _compact(self) -> None:
        rng, transcript = self.rng, self.transcript
        trigger = "auto" if rng.random() < 0.8 else "manual"
        before = transcript.last or ""
        # In half of the real cases the row before the boundary is in no file any more.
        logical = before if rng.random() < 0.5 else new_uuid(rng)
        body = (
            '"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,'
            f'"level":"info","compactMetadata":{{"trigger":"{trigger}","preTokens":{self.tokens_in_context}}}'
        )
        transcript.wait(20_000, 90_000)
        transcript.chain("system", body, parent=None, logical=logical)
        lead = "This session is being continued from a previous conversation that ran out of context."
        text = self.texts.prose(rng, self.tools.length(9_000, 0.4))
        transcript.user(f'"{lead}\\n\\n{text}"', ',"isVisibleInTranscriptOnly":true,"isCompactSummary":true')
        self.tokens_in_context = 20_000
        self._turn_starts.clear()
        self.tally.events["compactions"] += 1


def _agent_tool(client: GeneratingClient) -> str:
    return "Task" if client.number < (2, 1, 63) else "Agent"


def _task_json(task: GeneratedTask) -> str:
    return f'{{"description":"{task.description}","prompt":"{task.prompt}","subagent_type":"{task.kind}"}}'
