"""Row 13: the two reviews of a change side by side, against the same command whose reviewers take turns."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat

from benchmarks.bench import Bench, say
from benchmarks.measuring import Row, Ruler, Turn, compare, run_process
from benchmarks.plans import build_tasks, choose_agent, save_plan, task_id
from tests.standin.anthropic import Anthropic
from tests.standin.install import CLAUDE, find_program
from tests.standin.server import Reply, StandIn, serve

_FILES = 50
_ANSWER_SECONDS = 10
_LIMIT = 0.55
# Nearly all of a turn is waiting, and differs little from one turn to the next.
_MOST_ROUNDS = 3
_QUICK_ROUNDS = 1
# Whoever else is started this way waits until the first has ended.
_IN_TURN = """\
#!{python} -IS
import fcntl, os, sys
lock = os.open(__file__, os.O_RDONLY)
fcntl.flock(lock, fcntl.LOCK_EX)
os.set_inheritable(lock, True)
os.execv({program!r}, [{program!r}, *sys.argv[1:]])
"""


def reviews(bench: Bench) -> Iterator[Row]:
    """Row 13: by the demo agent, and by the real ``claude``, whose model is a script on the loopback."""
    yield _compare(
        bench,
        "demo",
        _reviewing(bench, "demo", "at-once", bench.environ),
        # To begin when the other has ended, for one who does nothing but sleep, is to sleep as long before.
        _reviewing(bench, "demo", "in-turn", bench.environ, code_seconds=2 * _ANSWER_SECONDS),
    )
    claude = find_program(CLAUDE)
    if claude is None:
        say(f"row 13 is not measured with claude: {CLAUDE.reason}")
        return
    in_turn = bench.place / "row-13-claude-in-turn.py"
    in_turn.write_text(_IN_TURN.format(python=sys.executable, program=claude))
    in_turn.chmod(0o755)
    with serve(Anthropic()) as model:
        _answer(model)
        environ = {**bench.environ, **model.environ(bench.place / "row-13-config")}
        yield _compare(
            bench,
            "claude",
            _reviewing(bench, "claude", "at-once", environ, claude=claude),
            _reviewing(bench, "claude", "in-turn", environ, claude=str(in_turn)),
        )


def _compare(bench: Bench, agent: str, ours: Turn, reference: Turn) -> Row:
    rounds = min(bench.ruler.rounds, _QUICK_ROUNDS if bench.quick else _MOST_ROUNDS)
    say(f"{agent} reviews a change {rounds + 1} times at once and in turn")
    what = f"{agent}'s reviews, answers after {_ANSWER_SECONDS} s: at once / in turn"
    # Who waits needs no processor: only the clock on the wall tells.
    row = compare(Ruler(rounds, by_cpu=False), "13", what, _LIMIT, ours, reference)
    return replace(row, remark=f"{rounds} rounds, times on the wall")


def _reviewing(  # a side of the row: who reviews, and how long it takes
    bench: Bench,
    agent: str,
    side: str,
    environ: Mapping[str, str],
    *,
    code_seconds: int = _ANSWER_SECONDS,
    claude: str = "claude",
) -> Turn:
    """Let the demo agent make a change; gives the whole command that has it reviewed, and approved."""
    repo = bench.make_repository(f"row-13-{agent}-{side}", _FILES)
    prompt = f"write x.txt one\nspec-sleep {_ANSWER_SECONDS}\ncode-sleep {code_seconds}"
    save_plan(repo, [replace(task, prompt=prompt) for task in build_tasks([0])])
    choose_agent(bench, repo, "demo")
    bench.run(bench.program, "execute", "--no-input", cwd=repo)
    choose_agent(bench, repo, agent, claude__path=claude)
    command = (bench.program, "review", "run", task_id(0))
    return lambda: run_process(command, environ, repo)


def _answer(model: StandIn) -> None:
    """Let the model approve as either reviewer, each time after a while."""
    often = 2 * (_MOST_ROUNDS + 1)
    for kind in ("spec", "code"):
        told = f"<{kind}-review><verdict>APPROVED</verdict></{kind}-review>"
        model.tell_part(f"You are the {kind} reviewer.", *repeat(Reply(told, delay=_ANSWER_SECONDS), often))
