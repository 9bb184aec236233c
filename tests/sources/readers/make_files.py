"""Make the files of other tools that the tests of the readers use: python make_files.py [TOOL ...]

No test needs the tools: the files are kept beside this script. They were made with Python 3.11 and

    pip install inspect-ai==0.3.285 lm-eval==0.4.13 deepeval==4.3.0 mlflow==3.17.0 datasets==5.0.1
    npm install promptfoo@0.121.20

in an environment of their own, without a network: mock models answer. Names of users, hosts and
folders are taken out. The files of Label Studio, Argilla, doccano and Prodigy are written by hand
in the documented shapes of their exports, because their servers were not at hand.
"""

# mypy: disable-error-code="untyped-decorator, misc, import-untyped"
# The tools are not installed where types are checked.

import getpass
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

FILES = Path(__file__).parent / "files"
N = 6


def make_inspect(folder: Path) -> None:
    """A log with two epochs, three scorers, tool calls and an edited score, in both formats."""
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, write_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, ScoreEdit, accuracy, includes, mean, scorer
    from inspect_ai.solver import generate, system_message, use_tools
    from inspect_ai.tool import tool

    @tool
    def add() -> Any:
        async def execute(x: int, y: int) -> int:
            """Add two numbers.

            Args:
                x: First number.
                y: Second number.
            """
            return x + y

        return execute

    @scorer(metrics=[accuracy()])
    def grader() -> Any:
        async def score(state: Any, target: Any) -> Score:
            said = state.output.completion
            verdict = "C" if f" {target.text}." in said else "P" if "about" in said else "I"
            return Score(value=verdict, answer=said, explanation=f"Compared with {target.text}.")

        return score

    @scorer(metrics=[mean()])
    def tone() -> Any:
        async def score(state: Any, target: Any) -> Score:
            return Score(value=len(state.output.completion) % 4 + 1, explanation="By length.")

        return score

    def outputs() -> Iterator[ModelOutput]:
        for turn in range(2 * N):
            i = turn % N  # first all samples, then all of them again
            ends = [f"The sum is {2 * i + 1}.", f"It is about {2 * i + 2}.", "Nobody knows."]
            call = ModelOutput.for_tool_call("mockllm/model", "add", {"x": i, "y": i + 1})
            for one in (call, ModelOutput.from_content("mockllm/model", ends[(i + turn // N) % 3])):
                one.usage = ModelUsage(input_tokens=20, output_tokens=8, total_tokens=28)
                yield one

    samples = [
        Sample(
            id=f"sum-{i}",
            input=f"What is {i} + {i + 1}?",
            target=str(2 * i + 1),
            metadata={"topic": "small" if i < 3 else "large"},
        )
        for i in range(N)
    ]
    task = Task(
        dataset=samples,
        name="sums",
        solver=[system_message("Use the tool."), use_tools(add()), generate()],
        scorer=[includes(), grader(), tone()],
    )
    model = get_model("mockllm/model", custom_outputs=outputs())
    where = {"log_dir": str(folder), "log_format": "eval"}
    (log,) = evaluate(task, model=model, epochs=2, display="none", max_samples=1, **where)
    log = read_eval_log(log.location)
    edit = ScoreEdit(value="I", provenance=ProvenanceData(author="ann", reason="Wrong tool."))
    edit_score(log, "sum-0", "grader", edit, epoch=1)
    log.eval.revision = None
    for sample in log.samples or []:
        sample.events = []  # they are long, and not read
    write_eval_log(log, str(FILES / "inspect.eval"))
    log.samples = (log.samples or [])[:3]
    write_eval_log(log, str(FILES / "inspect.json"))


def make_lm_eval(folder: Path) -> None:
    """The samples of a task that a dummy model answers."""
    task = {
        "task": "capitals",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(folder / "capitals.jsonl")}},
        "output_type": "multiple_choice",
        "test_split": "test",
        "doc_to_text": "What is the capital of {{country}}?",
        "doc_to_target": "{{answer}}",
        "doc_to_choice": "{{choices}}",
        "metric_list": [{"metric": "acc", "aggregation": "mean", "higher_is_better": True}],
    }
    capitals = {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "Kenya": "Nairobi"}
    rows = [
        {"country": country, "choices": [*capitals.values()], "answer": at}
        for at, country in enumerate(capitals)
    ]
    (folder / "capitals.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (folder / "capitals.yaml").write_text(json.dumps(task))  # JSON is YAML
    command = [f"{Path(sys.executable).parent}/lm_eval", "--model", "dummy", "--tasks", "capitals"]
    command += ["--include_path", str(folder), "--log_samples", "--output_path", f"{folder}/out"]
    home = {"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1"}
    subprocess.run(command, check=True, env={**os.environ, **home}, cwd=folder)
    (samples,) = (folder / "out").rglob("samples_*.jsonl")
    shutil.copy(samples, FILES / "lm_eval.jsonl")


def make_deepeval(folder: Path) -> None:
    """A test run of a metric of one's own and tool calls."""
    os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": str(folder)}
    os.chdir(folder)
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase, ToolCall

    class Short(BaseMetric):
        """Passes answers of few words."""

        threshold = 0.5
        async_mode = False

        def measure(self, test_case: Any) -> float:
            self.score = 1 / len(test_case.actual_output.split())
            self.reason = f"It has {len(test_case.actual_output.split())} words."
            self.success = self.score >= self.threshold
            return self.score

        async def a_measure(self, test_case: Any) -> float:
            return self.measure(test_case)

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return "Short"

    answers = ["Paris", "It is Tokyo of course", "Lima", "I do not know"]
    cases = [
        LLMTestCase(
            name=f"capital-{at}",
            input=f"What is the capital of country {at}?",
            actual_output=answer,
            expected_output=answer.split()[-1],
            retrieval_context=["An atlas."],
            tools_called=[ToolCall(name="atlas", input_parameters={"country": at})],
        )
        for at, answer in enumerate(answers)
    ]
    evaluate(
        cases,
        [Short()],
        display_config=DisplayConfig(print_results=False, show_indicator=False),
        async_config=AsyncConfig(run_async=False),
    )
    (made,) = folder.rglob(".latest_test_run.json")
    shutil.copy(made, FILES / "deepeval.json")


def make_promptfoo(folder: Path) -> None:
    """Results of an echo provider with two assertions; PROMPTFOO names the program."""
    assertions = [{"type": "contains", "value": "{{capital}}"}]
    assertions += [{"type": "javascript", "metric": "short", "value": "output.length < 30"}]
    answers = {"France": ("Paris", "Paris"), "Japan": ("Tokyo", "Kyoto"), "Peru": ("Lima", "Lima")}
    config = {
        "description": "capitals",
        "prompts": ["The capital of {{country}} is {{answer}}.", "{{answer}}"],
        "providers": ["echo"],
        "tests": [
            {"vars": {"country": one, "capital": right, "answer": said}, "assert": assertions}
            for one, (right, said) in answers.items()
        ],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    command = [os.environ.get("PROMPTFOO", "promptfoo"), "eval", "-c", "promptfooconfig.json"]
    command += ["--no-cache", "--no-table", "-o", "out.json"]
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1"}
    here = {**os.environ, **quiet, "PROMPTFOO_CONFIG_DIR": str(folder)}
    subprocess.run(command, cwd=folder, env=here, check=False)  # it exits with 100 if tests fail
    results = json.loads((folder / "out.json").read_text())
    for row in results["results"]["results"]:
        del row["tokenUsage"], row["response"]["tokenUsage"]
    results["results"]["prompts"] = []
    (FILES / "promptfoo.json").write_text(json.dumps(results))


def make_mlflow(folder: Path) -> None:
    """Traces with feedback of a judge and of a person, and both kinds of evaluation tables."""
    os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{folder}/mlflow.db"
    os.environ["MLFLOW_ARTIFACTS_DESTINATION"] = str(folder)
    os.chdir(folder)
    import mlflow
    import pandas as pd
    from mlflow.entities import AssessmentSource
    from mlflow.genai.scorers import scorer
    from mlflow.metrics import MetricValue, make_metric

    mlflow.set_experiment(experiment_id=mlflow.create_experiment("capitals", str(folder)))

    @mlflow.trace
    def answer(question: str) -> dict[str, str]:
        with mlflow.start_span("atlas", span_type="TOOL") as span:
            span.set_inputs({"country": question.split()[-1]})
            span.set_outputs({"page": 7})
        return {"answer": f"See page {len(question)}"}

    names = []
    for country in ("France", "Japan", "Peru"):
        answer(f"What is the capital of {country}")
        names.append(mlflow.get_last_active_trace_id())
    mlflow.flush_trace_async_logging()
    for at, name in enumerate(names):
        judge = AssessmentSource(source_type="LLM_JUDGE", source_id="judge")
        mlflow.log_feedback(
            trace_id=name, name="helpful", value=at != 1, rationale="It names a page.", source=judge
        )
    ann = AssessmentSource(source_type="HUMAN", source_id="ann")
    mlflow.log_feedback(trace_id=names[0], name="right", value=False, source=ann)
    mlflow.log_expectation(trace_id=names[0], name="expected", value="Paris", source=ann)
    traces = [_without_names(mlflow.get_trace(name).to_dict(), folder) for name in names]
    (FILES / "mlflow_traces.json").write_text(json.dumps(traces))
    _anonymous(mlflow.search_traces(), folder).to_parquet(FILES / "mlflow_traces.parquet")

    @scorer
    def short(outputs: Any) -> bool:
        return len(str(outputs)) < 30

    @scorer
    def words(outputs: Any) -> int:
        return len(str(outputs))

    rows = [{"inputs": {"question": f"Where is {c}"}} for c in ("Rome", "Oslo", "Kuala Lumpur")]
    result = mlflow.genai.evaluate(rows, predict_fn=answer, scorers=[short, words])
    _anonymous(result.result_df, folder).to_csv(FILES / "mlflow_genai.csv", index=False)

    def same(predictions: Any, targets: Any = None, metrics: Any = None) -> MetricValue:
        pairs = zip(predictions, targets, strict=True)
        return MetricValue(scores=[int(a == b) for a, b in pairs], justifications=["Compared."] * 3)

    metric = make_metric(eval_fn=same, greater_is_better=True, name="same", version="v1")
    data = pd.DataFrame(
        {
            "inputs": ["Capital of France?", "Capital of Japan?", "Capital of Peru?"],
            "outputs": ["Paris", "Kyoto", "Lima"],
            "targets": ["Paris", "Tokyo", "Lima"],
        }
    )
    with mlflow.start_run() as run:
        options = {"predictions": "outputs", "targets": "targets", "extra_metrics": [metric]}
        mlflow.models.evaluate(data=data, evaluators="default", **options)
    made = mlflow.MlflowClient().download_artifacts(run.info.run_id, "eval_results_table.json")
    shutil.copy(made, FILES / "mlflow_table.json")


def _without_names(value: Any, folder: Path) -> Any:
    """The value without the name of the user and the folder."""
    text = json.dumps(value).replace(str(folder), "/folder")
    return json.loads(text.replace(json.dumps(getpass.getuser()), '"user"'))


def _anonymous(table: Any, folder: Path) -> Any:
    for column in ("trace_metadata", "tags"):
        table[column] = [_without_names(dict(one), folder) for one in table[column]]
    table["trace"] = [json.dumps(_without_names(json.loads(one), folder)) for one in table["trace"]]
    return table.drop(columns="spans")


def make_huggingface(folder: Path) -> None:
    """A data set with names of classes, as Parquet and as a saved folder."""
    from datasets import ClassLabel, Dataset, Features, Value

    classes = ClassLabel(names=["negative", "positive"])
    features = Features({"text": Value("string"), "label": classes, "pred": classes})
    texts = ["Great film", "Too long", "I laughed", "Dull", "Fine", "Never again"]
    columns = {"text": texts, "label": [1, 0, 1, 0, 1, 0], "pred": [1, 0, 1, 1, 1, 0]}
    dataset = Dataset.from_dict(columns, features=features)
    dataset.to_parquet(FILES / "huggingface.parquet")
    dataset.save_to_disk(FILES / "huggingface")


def make_by_hand(folder: Path) -> None:
    """Exports of labelling tools in their documented shapes."""
    texts = ["Great film", "Too long", "I laughed", "Dull"]
    guesses, said = ["pos", "neg", "pos", "pos"], ["pos", "neg", None, None]

    def choice(label: str) -> list[dict[str, Any]]:
        value = {"choices": [label]}
        return [{"from_name": "tone", "to_name": "text", "type": "choices", "value": value}]

    tasks = [
        {
            "id": at + 1,
            "data": {"text": text, "source": "web"},
            "annotations": [
                {"id": at + 1, "completed_by": 1, "result": choice(label), "was_cancelled": False}
                for label in [said[at]]
                if label is not None
            ],
            "predictions": [{"model_version": "v1", "score": 0.9, "result": choice(guesses[at])}],
            "meta": {},
        }
        for at, text in enumerate(texts)
    ]
    (FILES / "label_studio.json").write_text(json.dumps(tasks, indent=1))
    records = [
        {
            "id": f"r{at}",
            "status": "completed" if said[at] else "pending",
            "fields": {"text": text},
            "metadata": {"source": "web"},
            "suggestions": {"tone": {"value": guesses[at], "score": None, "agent": "judge"}},
            "responses": {"tone": [{"value": said[at], "user_id": "u1"}]} if said[at] else {},
            "vectors": {},
        }
        for at, text in enumerate(texts)
    ]
    (FILES / "argilla.json").write_text(json.dumps(records, indent=1))
    lines = [
        {"id": at + 1, "text": text, "label": [said[at]] if said[at] else [], "source": "web"}
        for at, text in enumerate(texts)
    ]
    _write_lines("doccano.jsonl", lines)
    hashes = [{"_input_hash": 100 + at, "_task_hash": -200 - at} for at in range(len(texts))]
    lines = [
        {"text": text, "meta": {"source": "web"}, **hashes[at], "label": "pos", "answer": "accept"}
        for at, text in enumerate(texts)
    ]
    _write_lines("prodigy.jsonl", [*lines, {**lines[0], "answer": "reject"}])


def _write_lines(name: str, rows: list[dict[str, Any]]) -> None:
    (FILES / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


TOOLS: Mapping[str, Callable[[Path], None]] = {
    "inspect": make_inspect,
    "lm_eval": make_lm_eval,
    "promptfoo": make_promptfoo,
    "deepeval": make_deepeval,
    "mlflow": make_mlflow,
    "huggingface": make_huggingface,
    "by_hand": make_by_hand,
}


if __name__ == "__main__":
    FILES.mkdir(exist_ok=True)
    for tool in sys.argv[1:] or TOOLS:
        with TemporaryDirectory() as name:
            TOOLS[tool](Path(name))
