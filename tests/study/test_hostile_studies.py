"""Study files and overrides made to break the workflow: one line each, which names key or file."""

import os
import re
import sys
from pathlib import Path

import pytest

import partial_report
import status
import verify
import why
from ensemble_search.data.sources import source_key
from ensemble_search.jobs import Jobs
from ensemble_search.runtime.errors import LONGEST, UserError
from ensemble_search.study import model, yaml_file
from support.checkout import Checkout

pytestmark = pytest.mark.slow

GOOD = {
    "study": "s",
    "datasets": "{wine: {sklearn: wine}}",
    "searches": "{random: {optimizer: random}, divbo: {optimizer: divbo}}",
    "ensembles": "{best: {type: best}}",
    "methods": "{RS: {search: random, ensemble: best}, DivBO: {search: divbo, ensemble: best}}",
}
METHOD = "{search: random, ensemble: best}"
#: Ten levels of nine aliases each: 3 billion values.
LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(10)
)
#: Twenty-five levels of a mapping that merges the one before twice.
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i + 1}: &a{i + 1} {{<<: [*a{i}, *a{i}], y{i}: 1}}\n" for i in range(25)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(2000))
LONG = "x" * 5000
HUGE = str(10**21)


def text(**keys: str) -> str:
    """A valid study with some keys replaced; None leaves a key out."""
    lines = {**GOOD, **keys}
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value is not None)


#: Content of the study, expected line.
STUDIES = [
    # numbers
    (text(limits=f"{{memory_mb: {HUGE}}}"), "limits.memory_mb: .*less than or equal to 1000000000"),
    (text(limits="{memory_mb: -1}"), "limits.memory_mb: .*greater"),
    (text(limits="{seconds: 1.0e+300}"), "limits.seconds: .*less than or equal to"),
    (text(limits="{seconds: .inf}"), "limits.seconds: .*finite"),
    (text(limits="{seconds: -.inf}"), "limits.seconds: .*finite"),
    (text(limits="{seconds: .nan}"), "limits.seconds: .*finite"),
    (text(limits="{seconds: 1e999}"), "limits.seconds: .*valid number; found '1e999'"),
    (text(limits="{seconds: 1.0e+999}"), "limits.seconds: .*finite"),
    (text(limits="{seconds: 1:30}"), "line 6: .*YAML reads 1:30 as 90; write that"),
    (text(limits="{seconds: 1:30.5}"), "line 6: .*YAML reads 1:30.5 as 90.5"),
    (text(limits="{seconds: 1_0:30}"), "line 6: .*YAML reads 1_0:30 as 630"),
    (text(limits="{seconds: 5s}"), "limits.seconds: .*found '5s'"),
    (text(limits="{seconds: [5]}"), "limits.seconds: .*valid number"),
    (text(repeats="1000000000"), "repeats: .*less than or equal to 10000; found 1000000000"),
    (text(repeats=str(-(10**30))), "repeats: .*greater than or equal to 1"),
    (text(repeats="1e3"), "repeats: .*found '1e3', which YAML reads as text: write 1000"),
    (text(repeats="1.0"), "repeats: .*valid integer"),
    (text(repeats="1_0"), "line 6: .*YAML reads 1_0 as 10; write that, or quote it"),
    (text(limits="{seconds: 1_0.5}"), "line 6: .*YAML reads 1_0.5 as 10.5"),
    (text(repeats="0b101"), "line 6: .*YAML reads 0b101 as 5"),
    (text(repeats="-0x1F"), "line 6: .*YAML reads -0x1F as -31"),
    (text(split="{train_rows: {share: 1.0e-300}}"), "train_rows.share: .*or equal to 0.001"),
    (text(split="{train: 5.0e-5, validation: 0.5, test: 0.49995}"), "split.train: .*0.001"),
    (text(split="{folds: 2, test: 1.0e-9}"), "split.test: .*0.001; found 1e-09"),
    (text(metric="squared-error"), "datasets.wine.sklearn: 'wine' is a classification, but metric "
                                   "'squared-error' is for regression"),
    (text(datasets="{d: {sklearn: diabetes}}"), "datasets.d.sklearn: 'diabetes' is a regression, "
                                                "but metric 'error' is for classification"),
    (text(surrogates="{names: [gaussian-process]}"),
     "surrogates.names: 'gaussian-process' needs a space without conditions, and 'divbo' has some"),
    (text(repeats="010"), "line 6: .*YAML reads 010 as 8; write that"),
    (text(repeats="-010"), "line 6: .*YAML reads -010 as -8"),
    (text(repeats="0o17"), "repeats: .*found '0o17'"),
    (text(repeats="9" * 101), "line 6: .*a number of more than 100 characters"),
    (text(repeats="9" * 5000), "line 6: .*a value that cannot be read"),
    (text(repeats="0x" + "f" * 5000), "line 6: .*a number of more than 100 characters"),
    (text(repeats="yes"), "repeats: .*valid integer; found True"),
    (text(repeats="null"), "repeats: .*valid integer; found None"),
    (text(repeats="~"), "repeats: .*valid integer; found None"),
    (text(repeats="١"), "repeats: .*valid integer; found '١'"),
    (text(seed="9223372036854775808"), "seed: .*less than or equal to 9223372036854775807"),
    (text(seed="-1"), "seed: .*greater than or equal to 0"),
    (text(split=f"{{seed: {HUGE}}}"), "split.seed: .*less than or equal"),
    (text(budget="{evaluations: 1000000000}"), "budget.evaluations: .*less than or equal"),
    (text(budget="{seconds: 1.0e+300}"), "budget.seconds: .*less than or equal"),
    (text(autogluon="{seconds: 1.0e+300}"), "autogluon.seconds: .*less than or equal"),
    (text(repeats="9999", datasets="{wine: {sklearn: wine}, a: {sklearn: iris}, b: {sklearn: "
          "digits}}"), "repeats: 119,988 jobs .* at most 100,000"),
    (text(surrogates="{names: [forest-kernel], repeats: 1000000000}"),
     "surrogates.repeats: .*less"),
    (text(surrogates="{names: [forest-kernel], sizes: [1000000000]}"),
     "surrogates.sizes.0: .*less"),
    (text(surrogates="{names: [forest-kernel], configurations: 1000000000}"),
     "surrogates.configurations: .*less"),
    # tables and replay
    (text(tables="{random: 0}"), "tables.random: .*empty; raise it"),
    (text(tables="{random: 9}", budget="{evaluations: 10}",
          evaluation="{replay: ./results/../results/s/tables/}"),
     "tables.random: 9 are fewer than .* search 'random' asks for within budget.evaluations; "
     "raise it to at least 10$"),
    (text(tables="{searches: [rnd]}"), "tables.searches: 'rnd' is not .*did you mean 'random'"),
    (text(evaluation="{replay: 'a/{b}'}"), "evaluation.replay: a path must not contain braces"),
    (text(evaluation="{replay: " + "a" * 300 + "}"),
     "evaluation.replay: cannot be looked at: File name too long"),
    (text(evaluation="{share: true, tables: 'a/{b}'}"),
     "evaluation.tables: a path must not contain braces"),
    (text(evaluation="{share: results/t/tables}"), "evaluation.share: input should be a .*boolean"),
    (text(evaluation="{share: true, replay: results/t/tables}"),
     "evaluation.share: replayed searches fit nothing; remove share or replay"),
    (text(evaluation="{tables: results/t/tables}"), "evaluation.tables: needs share: true"),
    (text(evaluation="{warm_start: {op: results/t/tables}}"),
     "evaluation.warm_start.op: is not among searches"),
    (text(evaluation="{warm_start: {random: ''}}"), "evaluation.warm_start.random: "),
    (text(evaluation="{warm_start: {random: 'a{b}'}}"),
     "evaluation.warm_start.random: a path must not contain braces"),
    (text(evaluation="{warm_start: {random: t}, replay: t}"),
     "evaluation.warm_start.random: a replayed search begins with no evaluations"),
    (text(tables="{searches: [random]}", evaluation="{warm_start: {random: results/s/tables}}"),
     "evaluation.warm_start.random: the table would be made of searches"),
    (text(tables="{random: 9}", evaluation="{share: true, tables: ./results/s/tables/}"),
     "evaluation.tables: these are made by this study"),
    (text(tables="{searches: [random]}", evaluation="{replay: results/s/tables}"),
     "tables.searches: the searches of this study are replayed"),
    (text(surrogates="{names: [forest-kernel], held_out: 1000000000}"),
     "surrogates.held_out: .*less"),

    (text(searches=f"{{random: {{optimizer: random}}, b: {{optimizer: bo, candidates: {HUGE}}}}}"),
     "searches.b.candidates: at most 1,000,000; found 1000000000000000000000"),
    (text(ensembles=f"{{best: {{type: selection, size: {HUGE}}}}}"),
     "ensembles.best.size: input should be less than or equal to 1000"),
    (text(datasets=f"{{x: {{openml: {HUGE}}}}}"), "datasets.x.openml: .*integer from 1 to"),
    (text(datasets=f"{{x: {{openml: 3, version: {HUGE}}}}}"), "datasets.x.version: .*less than"),
    # paths
    (text(datasets=f"{{x: {{file: {LONG}.csv, target: y}}}}"),
     "datasets.x.file: .* cannot be read: File name too long"),
    (text(datasets=f"{{x: {{file: {'x/' * 2500}a.csv, target: y}}}}"),
     "datasets.x.file: .* cannot be read: File name too long"),
    (text(datasets=f"{{x: {{file: {LONG}, target: y}}}}"), "datasets.x.file: .*must end in .csv"),
    (text(datasets='{x: {file: "a\\0.csv", target: y}}'),
     r"datasets.x.file: there is .*'a\\x00.csv'"),
    (text(datasets='{x: {file: "\\x1b[31m.csv", target: y}}'),
     r"datasets.x.file: .*'\\x1b\[31m.csv'"),
    (text(datasets='{x: {file: "a\\n\\nb.csv", target: y}}'), r"datasets.x.file: .*'a\\n\\nb.csv'"),
    (text(datasets='{x: {file: "\\u202egpj.csv", target: y}}'), r"datasets.x.file: .*'\\u202egpj"),
    (text(datasets='{x: {file: "\\ud800.csv", target: y}}'), "line 2: a value that cannot be read"),
    (text(datasets="{x: {file: /dev/zero, target: y}}"), "datasets.x.file: .*must end in .csv"),
    (text(datasets="{x: {file: ., target: y}}"), "datasets.x.file: .*must end in .csv"),
    (text(datasets="{x: {file: '', target: y}}"), "datasets.x.file: .*at least 1 character"),
    (text(openml=f"{{cache: {LONG}}}"), "openml.cache: there is no folder"),
    (text(openml=f"{{cache: ~{LONG}}}"), "openml.cache: there is no folder"),
    (text(openml='{cache: "~\\0"}'), "openml.cache: "),
    (text(openml='{cache: "a\\x7f"}'), r"openml.cache: there is no folder 'a\\x7f'"),
    (text(openml="{cache: /dev/null}"), "openml.cache: there is no folder"),
    (text(extends=LONG), "extends: there is no file"),
    (text(extends="x/" * 2500), "extends: there is no file"),
    (text(extends='"a\\0"'), r"extends: there is no file '.*a\\x00'"),
    (text(extends="/dev/zero"), "extends: there is no file '/dev/zero'"),
    (text(extends="."), "extends: there is no file"),
    (text(extends="''"), "extends: there is no file"),
    (text(extends="study.yaml"), "extends: .*a study cannot extend itself"),
    (text(extends="[a]"), "extends: must be text"),
    (text(extends="{a: b}"), "extends: must be text"),
    (text(extends="false"), "extends: must be text"),
    (text(space=LONG), "space: there is no"),
    (text(space="../../etc/passwd"), "space: there is no"),
    (text(space='"\\x1b]0;x\\a"'), r"space: there is no '\\x1b\]0;x\\x07'"),
    # aliases, merged keys, depth
    (text(datasets="&a {iris: *a}"), "nested too deeply: .*alias .* part of what it stands for"),
    (text(searches="&a [*a]"), "nested too deeply: .*alias"),
    ("&a {<<: *a}\n", "nested too deeply: .*alias"),
    (text(datasets="{wine: *wine}"), "line 2: not valid YAML: found undefined alias"),
    (text() + LAUGHS, "more than 100,000 values, with those that aliases"),
    (text() + MERGED, "more than 100,000 values, with those that aliases|nested too deeply"),
    (text() + CHAIN, "nested too deeply: more than 20 levels"),
    (text() + f"x: &x [{'1, ' * 999}1]\ny: [{'*x, ' * 999}*x]\n", "more than 100,000 values"),
    (text(searches=f"&s {{x: {METHOD}, y: {{<<: 3}}}}"), "line 3: not valid YAML: .*merging"),
    (text(searches="{<<: [1]}"), "line 3: not valid YAML: .*merging"),
    (text(datasets="[" * 100_000), "nested too deeply"),
    (text(datasets="[" * 9000 + "]" * 9000), "nested too deeply"),
    (text(datasets="{a: " * 5000 + "}" * 5000), "nested too deeply"),
    (text(datasets="{a: " * 30 + "1" + "}" * 30), "nested too deeply: more than 20 levels"),
    ("".join(f"{' ' * i}a:\n" for i in range(1000)), "nested too deeply"),
    ("- " * 5000, "nested too deeply"),
    ("? " * 5000, "nested too deeply"),
    (text() + "# " + "x" * 1_000_000, "it has more than 1,000,000 bytes"),
    (text(datasets=f"{{{', '.join(f'd{i}: 1' for i in range(3000))}}}"), "and 2980 more mistakes"),
    (text() + "".join(f"k{i}: 1\n" for i in range(3000)), "and 2980 more mistakes"),
    # tags
    (text(study="!!python/object/apply:os.system ['true']"),
     "line 1: not valid YAML: .*constructor"),
    (text(study="!!python/name:os.system"), "line 1: not valid YAML: .*constructor"),
    (text(study="!own x"), "line 1: not valid YAML: .*constructor"),
    (text(study="!!binary aGFsbG8="), "study: must be text"),
    (text(study="!!binary '*'"), "study: |line 1: "),
    (text(study="2024-01-01"), "study: must be text: YAML reads it as 2024-01-01; quote it"),
    (text(study="2024-01-01T00:00:00Z"), "study: must be text"),
    (text(study="!!timestamp x"), "line 1: a value that cannot be read"),
    (text(datasets="!!set {wine}"), "datasets: must be a mapping"),
    (text(datasets="!!omap [wine: {sklearn: wine}]"), "datasets: must be a mapping"),
    (text(datasets="!!pairs [wine: {sklearn: wine}]"), "datasets: must be a mapping"),
    (text(datasets="!!set [a]"), "line 2: "),
    (text(datasets="!!map x"), "line 2: "),
    (text(datasets="!!seq x"), "line 2: "),
    (text(repeats="!!int x"), "line 6: a value that cannot be read"),
    (text(repeats="!!int [1]"), "line 6: "),
    (text(repeats="!!float x"), "line 6: a value that cannot be read"),
    (text(searches="{random: !!set {optimizer}}"), "searches.random: must be a mapping"),
    (text(searches="{random: {optimizer: !!set {random}}}"), "searches.random: needs 'optimizer:'"),
    (text(searches="{random: {optimizer: 2024-01-01}}"), "searches.random: needs 'optimizer:'"),
    # keys
    (text() + "1: x\n", "line 6: 1: a name must be text: YAML reads it as 1; quote it"),
    (text() + "null: x\n", "line 6: null: a name must be text: YAML reads it as None"),
    (text() + ": x\n", "line 6: not valid YAML"),
    (text() + "[a]: x\n", "line 6: a key must be plain text"),
    (text() + "{a: b}: x\n", "line 6: a key must be plain text"),
    (text() + "? [a]\n: x\n", "line 6: a key must be plain text"),
    (text() + "2024-01-01: x\n", "line 6: 2024-01-01: a name must be text"),
    (text() + "on: x\n", "line 6: on: a name must be text: YAML reads it as True"),
    (text() + "study: t\n", "line 6: key 'study' is written twice"),
    (text() + "'study': t\n", "line 6: key 'study' is written twice"),
    (text() + '"st\\u0075dy": t\n', "line 6: key 'study' is written twice"),
    (text() + f"{LONG}: x\n", "x: unknown key|line 6: "),
    (text() + f"? {LONG}\n: x\n", "unknown key"),
    (text() + "? |\n  a\n  b\n: x\n", r"a\\+nb\\+n: unknown key"),
    (text() + '"\\x1b[2J": x\n', r"\\x1b\[2J: unknown key"),
    (text() + "__use_yte__: 1\n", "__use_yte__: unknown key"),
    (text() + "__class__: x\n", "__class__: unknown key"),
    (text() + "model_config: x\n", "model_config: unknown key"),
    (text(searches="{random: {optimizer: random, 1: 2}}"), "line 3: 1: a name must be text"),
    (text(searches="{random: {optimizer: random, null: 2}}"), "line 3: null: a name must be text"),
    (text(searches="{random: {optimizer: random, __init__: 2}}"), "searches.random.__init__"),
    (text(datasets="{1: {sklearn: wine}}"), "line 2: 1: .*quote it"),
    (text(datasets="{null: {sklearn: wine}}"), "line 2: null: .*quote it"),
    (text(datasets="{NO: {sklearn: wine}}"), "line 2: NO: .*quote it"),
    (text(datasets="{1.5: {sklearn: wine}}"), "line 2: 1.5: .*quote it"),
    (text(methods="{1: {search: random, ensemble: best}}"), "line 5: 1: .*quote it"),
    # names
    *((text(study=name), "study: .*is not a name for a folder") for name in (
        "..", "'.'", "a/b", "a\\b", "'a '", "a.", "a...", '"a\\0"', '"a\\n"', '"\\x1b[31m"',
        "ａ", "аdmin", "é", '"e\\u0301"', '"a\\u200b"', '"\\ufeffa"', "'~'", "$HOME", "'*'",
        "'{a}'", "x" * 65, "-a", "'%s'", "'a:b'", "'NUL:'",
    )),
    *((text(study=name), f"study: '{name}' is a device's name on Windows") for name in (
        "con", "NUL", "aux.csv", "Com1", "lpt9.tar.gz",
    )),
    (text(datasets="{nul: {sklearn: wine}}"), "datasets.nul: 'nul' is a device's name"),
    (text(datasets="{wine: {sklearn: wine}, Wine: {sklearn: iris}}"),
     "datasets.Wine: differs from 'wine' in case only"),
    (text(methods=f"{{RS: {METHOD}, rs: {{search: divbo, ensemble: best}}}}"),
     "methods.rs: differs from 'RS' in case only"),
    (text(datasets='{e: {sklearn: wine}, "e\\u0301": {sklearn: iris}}'),
     "datasets.*is not a name for"),
    (text(datasets="{ｗine: {sklearn: wine}}"), "datasets.ｗine: .*is not a name for a folder"),
    (text(datasets="{" + LONG + ": {sklearn: wine}}"), "is not a name for a folder|line 2: "),
    (text(study="Data"), "study: 'Data' is taken"),
    (text(report='{reference: "\\x1b[2J"}'), r"report.reference: '\\x1b\[2J' is not among methods"),
    # characters and encodings
    (b"\xff\xfe" + text().encode("utf-16-le"), "it is not UTF-8 text; save it as such"),
    (text().encode("utf-16"), "it is not UTF-8 text"),
    (text().encode("utf-32"), "it is not UTF-8 text"),
    (text(study="é").encode("latin-1"), "it is not UTF-8 text"),
    (b"\xed\xa0\x80: 1\n", "it is not UTF-8 text"),
    (b"\x00" * 100, r"line 1: not valid YAML: the character U\+0000; remove it"),
    (text() + "\x00", r"line 6: not valid YAML: the character U\+0000"),
    (text() + "\x1b[31m", r"line 6: not valid YAML: the character U\+001B"),
    (text() + "\ufffe", r"line 6: not valid YAML: the character U\+FFFE"),
    (text() + "\x7f", r"line 6: not valid YAML: the character U\+007F"),
    (text() + "limits:\n\tseconds: 1\n", "line 7: not valid YAML: .*cannot start any token"),
    ("\t" + text(), "line 1: not valid YAML"),
    (text() + "limits: {seconds: 1\n", "not valid YAML"),
    (text() + "x: 'a\n", "not valid YAML"),
    (text() + 'x: "\\q"\n', "line 6: not valid YAML: .*unknown escape"),
    (text() + 'x: "\\xzz"\n', "line 6: not valid YAML"),
    (text() + 'x: "\\UFFFFFFFF"\n', "not valid YAML: a character beyond Unicode"),
    (text() + "%YAML 3.0\n---\na: 1\n", "not valid YAML"),
    ("%YAML 9.9\n---\n" + text(), "line 1: not valid YAML: found incompatible"),
    ("%TAG ! tag:x,2000:\n---\nstudy: !x y\n", "line 3: not valid YAML"),
    (text() + "---\n" + text(), "line 6: not valid YAML: expected a single document"),
    (text() + "...\n" + text(), "not valid YAML: expected"),
    (b"PK\x03\x04" + bytes(range(256)), "it is not UTF-8 text|not valid YAML"),
    (b"\x89PNG\r\n\x1a\n", "it is not UTF-8 text"),
    # no mapping
    ("", "is empty; it needs study"),
    ("\ufeff", "is empty; it needs study"),
    ("---\n", "is empty; it needs study"),
    ("# nothing\n", "is empty; it needs study"),
    ("null\n", "is empty; it needs study"),
    ("study\n", "must be a mapping of keys to values: study"),
    ("- a\n- b\n", "must be a mapping of keys to values: study"),
    ("!!set {a}\n", "must be a mapping of keys to values: study"),
    ("42\n", "must be a mapping of keys to values: study"),
    ("<html><body>404</body></html>\n", "must be a mapping of keys to values: study"),
    ("{}\n", "study: is missing"),
    ('{"study": "s"}', "datasets: is missing"),
    ('{"study": NaN}', "study: |datasets: "),
    # no section
    *((text(**{section: value}), f"{section}: ") for value in ("null", "[]", "x", "1", "{}")
      for section in ("datasets", "searches", "ensembles", "methods")),
    *((text(**{section: value}), f"{section}: must be a mapping")
      for value in ("null", "[]", "x", "1") for section in ("limits", "split", "openml", "report")),
    (text(methods="{RS: [random, best]}"), "methods.RS: must be a mapping"),
    (text(methods="{RS: {search: [random], ensemble: best}}"), "methods.RS.search: must be text"),
    (text(searches="{random: random}"), "searches.random: must be a mapping"),
    (text(searches="{random: [optimizer, random]}"), "searches.random: must be a mapping"),
    (text(searches="{random: {optimizer: [random]}}"), "searches.random: needs 'optimizer:'"),
    (text(searches="{random: {optimizer: ../random}}"), "searches.random.optimizer: there is no"),
    (text(ensembles="{best: {type: __init__}}"), "ensembles.best.type: there is no"),
    (text(ensembles="{best: {type: base}}"), "ensembles.best.type: there is no"),
    (text(surrogates="{names: forest-kernel}"), "surrogates.names: .*list"),
    (text(surrogates="{names: [[forest-kernel]]}"), "surrogates.names.0: must be text"),
    (text(surrogates="{names: ['../x']}"), "surrogates.names: there is no"),
]  # fmt: skip


def rejected(call, *arguments) -> str:
    """The error lines of a call, which are all that a user sees."""
    with pytest.raises(UserError) as caught:
        call(*arguments)
    message = str(caught.value)
    for line in message.split("\nerror: "):
        assert line.isprintable(), line
        assert len(line) <= LONGEST + 5
    return message


@pytest.mark.parametrize("number", range(len(STUDIES)))
def test_a_hostile_study_gets_one_line(number, tmp_path):
    written, says = STUDIES[number]
    file = tmp_path / "study.yaml"
    file.write_bytes(written if isinstance(written, bytes) else written.encode())
    message = rejected(Jobs.load, str(file))
    assert message.startswith(f"{file}: ")
    assert re.search(says, message), message


def test_there_are_enough_of_them():
    assert len(STUDIES) >= 200


def test_what_is_unusual_but_right_is_read(tmp_path):
    file = tmp_path / "study.yaml"
    for written in (
        text(),
        "\ufeff" + text(),
        "---\n" + text() + "...\n",
        text().replace("\n", "\r\n"),
        text(repeats="+10"),
        text(searches="{random: &r {optimizer: random}, divbo: {<<: *r, optimizer: divbo}}"),
        '{"study": "s", "datasets": {"wine": {"sklearn": "wine"}}, "searches": {"random": '
        '{"optimizer": "random"}}, "ensembles": {"best": {"type": "best"}}, "methods": {"RS": '
        '{"search": "random", "ensemble": "best"}}}',
    ):
        file.write_text(written, encoding="utf-8")
        assert model.load(file).repeats == 10


@pytest.mark.parametrize("command", [status, verify, partial_report, why])
@pytest.mark.parametrize(
    ("written", "says"),
    [
        (text() + LAUGHS, "more than 100,000 values"),
        (text(datasets="&a {iris: *a}"), "nested too deeply"),
        (text(datasets="[" * 10_000), "nested too deeply"),
        (b"\xff", "not UTF-8"),
        ("", "must be a mapping of keys to values: study"),
        (text() + "\x1b", "U\\+001B"),
        (text(repeats="010"), "for 8"),
        (text() + "study: s\n", "twice"),
        (text() + "__use_yte__: true\n?open('ran', 'w'): {}\n", "a study is not a template"),
    ],
)
def test_all_commands_say_the_same(command, written, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_bytes(written if isinstance(written, bytes) else written.encode())
    monkeypatch.setattr(sys, "argv", [command.__name__, "--study", "study.yaml"])
    message = rejected(command.main)
    assert message == rejected(Jobs.load, "study.yaml")
    assert not Path("results").exists()
    assert not Path("ran").exists()


@pytest.mark.parametrize("command", [status, verify, partial_report, why])
def test_what_is_no_file(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    Path("folder").mkdir()
    Path("link").symlink_to("link")
    for name, says in {
        "fifo": "it is not a regular file",
        "folder": "it is not a regular file",
        "/dev/zero": "it is not a regular file",
        "link": "Too many levels of symbolic links",
        "none.yaml": "No such file",
        "x" * 5000: "File name too long",
        "no\x1b[31m.yaml": "No such file",
    }.items():
        monkeypatch.setattr(sys, "argv", [command.__name__, "--study", name])
        assert says in rejected(command.main)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    file = tmp_path / "study.yaml"
    file.write_text(text())

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)  # root may read all
    assert "cannot be read: Permission denied" in rejected(model.load, file)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (text(datasets="&a {iris: *a}"), "nested too deeply"),
        (text() + LAUGHS, "more than 100,000 values"),
        (text(datasets="[" * 10_000), "nested too deeply"),
        (text(extends="x"), "extends a study itself"),
        ("", "is empty; it needs study"),
        (b"\xff", "not UTF-8"),
        (text(limits=f"{{memory_mb: {HUGE}}}"), "limits.memory_mb"),
        (text(study="S2"), "is the name of the study that it extends"),
    ],
)
def test_hostile_studies_that_are_extended(written, says, tmp_path):
    (tmp_path / "base.yaml").write_bytes(
        written if isinstance(written, bytes) else written.encode()
    )
    file = tmp_path / "study.yaml"
    file.write_text("study: s2\nextends: base.yaml\n")
    assert says in rejected(model.load, file)


def test_twins_by_inheritance(tmp_path):
    (tmp_path / "base.yaml").write_text(text())
    file = tmp_path / "study.yaml"
    file.write_text("study: t\nextends: base.yaml\nsearches: {Random: {optimizer: random}}\n")
    assert "searches.Random: differs from 'random' in case only" in rejected(model.load, file)


ALIASES = "{a: &a [x, x], " + "".join(
    f"a{i}: &a{i} [{', '.join(['*a' + (str(i - 1) if i else '')] * 9)}], " for i in range(8)
) + "}"  # fmt: skip


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("repeats=abc", "repeats: .*valid integer; found 'abc'"),
        ("repeats=1000000000", "repeats: .*less than or equal to 10000"),
        (f"repeats={'9' * 5000}", "repeats: .*valid integer; found inf"),
        ("repeats=nan", "repeats: .*valid integer; found nan"),
        ("repeats=", "repeats: .*valid integer; found None"),
        ("repeats={", "repeats: .*valid integer; found '{'"),
        ("repeats=[1", r"repeats: .*valid integer; found '\[1'"),
        ("repeats=[1]", "repeats: .*valid integer"),
        ("repeats=!!python/object:x", "repeats: .*valid integer"),
        ("repeats=\x1b[31m", "repeats: .*valid integer"),
        (f"repeats={'[' * 400}", "repeats: .*valid integer"),
        (f"repeats={'[' * 60}{']' * 60}", "--config: nested too deeply"),
        ("repeats={a: 010}", "repeats: .*valid integer"),
        ("budget={evaluations: 010}", "budget.evaluations: .*found '010'"),
        ("budget={evaluations: 1:30}", "budget.evaluations: .*found '1:30'"),
        (f"limits={{memory_mb: {HUGE}}}", "limits.memory_mb: .*less than"),
        (f"limits={{memory_mb: 0x{'f' * 5000}}}", "limits.memory_mb: .*valid integer"),
        ("limits=5", "limits: must be a mapping"),
        ("limits={seconds: .inf}", "limits.seconds: .*finite"),
        ("limits={seconds: '!!bool x'}", "limits.seconds: .*valid number"),
        ("limits={seconds: '!!timestamp x'}", "limits.seconds: .*valid number"),
        (
            r"limits={seconds: '" + '"' + r"\UFFFFFFFF" + '"' + "'}",
            "limits.seconds: .*valid number",
        ),
        (f"limits={{seconds: '{'[' * 400}'}}", "limits.seconds: .*valid number"),
        (f"searches={ALIASES}", "--config: more than 100,000 values"),
        ("datasets={a: &a {iris: *a}}", "datasets: must be a mapping"),
        ("openml={server: \udcff}", r"--config: '.*\\udcff.* is not UTF-8"),
        ("study=../x", "study: .*is not a name for a folder"),
        ("study=", "study: must be text"),
        ("study=5", "study: must be text"),
        ("extends=5", "extends: must be text"),
        (f"extends={'x' * 5000}", "extends: there is no file"),
        ("no_key=1", "no_key: unknown key"),
        ("datasets=", "datasets: must be a mapping"),
        ("searches={random: }", "searches.random: must be a mapping"),
    ],
)
def test_hostile_overrides(given, says, tmp_path):
    from snakemake.cli import parse_config

    file = tmp_path / "study.yaml"
    file.write_text(text())
    message = rejected(model.load, file, parse_config([given]))
    assert re.search(says, message), message


def test_an_extended_study_can_be_left_out(tmp_path):
    file = tmp_path / "study.yaml"
    file.write_text(text(extends="gone.yaml"))
    assert "there is no file" in rejected(model.load, file)
    assert model.load(file, {"extends": "null"}).study == model.load(file, {"extends": None}).study


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("5", 5), ("1e3", "1e3"), (" 0.5 ", 0.5), ("true", True), ("null", None), ("", None),
        ("#id", "#id"), ("5 # x", "5 # x"), ("--- 5", "--- 5"), ("!!int 5", "!!int 5"),
        ("'5'", "'5'"), ("[1]", "[1]"), ("a: 1", "a: 1"), ("010", "010"),
    ],
)  # fmt: skip
def test_texts_in_overrides_are_numbers_only_if_they_are_nothing_else(given, read):
    assert yaml_file.merged({"a": {"b": 0}}, {"a": {"b": given}}) == {"a": {"b": read}}


def test_long_names_of_files_fit_in_a_folder(tmp_path):
    name = "x" * 251 + ".csv"
    (tmp_path / name).write_text("a,y\n1,u\n2,v\n")
    source = {"file": str(tmp_path / name), "target": "y"}
    (tmp_path / source_key(source)).mkdir()
    assert source_key({"file": "short.csv", "target": "y"}) == "file-short-074b4838"


def test_the_extent_counts_what_is_repeated():
    shared = [1, 2]
    assert yaml_file._extent({"a": shared, "b": shared}, {}) == (7, 3)
    assert yaml_file._extent("x", {}) == (1, 1)


@pytest.mark.slow
def test_snakemake_says_it_too(tmp_path):
    checkout = Checkout(tmp_path)
    for keys, says in (
        ({"limits": f"{{memory_mb: {HUGE}}}"}, "error: study.yaml: limits.memory_mb: "),
        ({"repeats": "1000000000"}, "error: study.yaml: repeats: "),
        ({"extends": LONG}, "error: study.yaml: extends: there is no file"),
        (
            {"datasets": '{x: {file: "\\x1b[31m.csv", target: y}}'},
            r"file: there is no file '\x1b[31m",
        ),
        ({"extends": "deep.yaml"}, "error: deep.yaml: nested too deeply"),
        (
            {"deliver": "{method: RS, test: none.csv}"},
            "error: study.yaml: deliver.test: there is no file 'none.csv'",
        ),
    ):
        (tmp_path / "deep.yaml").write_text(text(datasets="&a {iris: *a}"))
        (tmp_path / "study.yaml").write_text(text(**keys))
        said = checkout.snakemake("--dry-run", fails=True)
        assert says in said
        assert "Traceback" not in said
        assert "\x1b" not in said
        said = [line for line in said.splitlines() if not line.startswith("Using workflow spec")]
        assert len(said) == 1, said
