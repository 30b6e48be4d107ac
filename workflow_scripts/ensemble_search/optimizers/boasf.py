"""Bayesian optimization via adaptive successive filtering (Zhu et al., 2020; docs/boasf.md)."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, count, islice, pairwise, repeat
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator, model_validator

from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers._model_based.acquisition import settled
from ensemble_search.optimizers.base import History, Suggestion
from ensemble_search.optimizers.tpe import TreeParzenEstimator
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces import _pieces
from ensemble_search.spaces.base import ALGORITHM, Space

#: Fewest evaluations of an arm in the first round: fewer have no standard deviation.
LEAST = 2
#: Most arms that can share a budget in seconds.
MOST_ARMS = 1000


class AdaptiveSuccessiveFiltering(TreeParzenEstimator):
    """One TPE per arm; rounds divide the budget, and each round ends with a random filter of arms.

    Bayesian optimization via adaptive successive filtering (Zhu et al., 2020). Each arm has its own
    ``tpe``, which sees the evaluations of that arm in all rounds so far.

    1. The budget is divided equally between the rounds (250 evaluations in 3: 84, 83, 83), and the
       first round equally between the arms, rounded to integers by largest remainders; ties go to
       the first arms in the order of the space. Arms spend their shares in this order.
    2. After a round, an arm's rewards are the accuracies of its successes so far (1 - loss / the
       metric's worst; in regression, the limit of ``rising-bandit`` instead). Its upper bound is U
       = mean + ``exploration`` * standard deviation / sqrt(n).
    3. An arm survives with probability (U - lowest) / (highest - lowest): the best always survives,
       the worst never. Arms without a success are eliminated first. If all bounds are equal, or no
       arm has a success, all survive. The errors so far seed the filter's random numbers.
    4. The surviving arms' shares of the next round are proportional to exp(U), which is nearly flat
       for accuracies.

    Evaluations beyond the budget form further rounds of the last round's size. When an arm's
    configurations are exhausted, the rest of its share goes to random configurations of the others.
    Given evaluations use no share, but count as rewards of their arm. ``design`` and ``algorithm``
    of ``tpe`` do not apply, and a batch ends with its round.

    With ``seconds``, or a study's budget in seconds, the rounds divide time, as in the paper: each
    arm in turn continues until its evaluations in the round, including failed ones, have used its
    share; the last one may exceed it. In the first round, an arm makes at least two evaluations.
    The time left is divided equally between the remaining rounds. ``batch`` must be 1.

    With ``arms: {pieces: k}``, for spaces of one learner without conditions, each hyperparameter's
    range is cut into k equal pieces, and the arms are their Cartesian product: 2 pieces of 5
    hyperparameters make 32 arms, named by the numbers of their pieces, such as ``C 1, gamma 2``.
    Log-scaled ranges are cut on the linear scale, as in the authors' code, but values are drawn on
    the log scale; integers and categories are cut into contiguous parts.

    The defaults are the paper's, except ``initial``, which it does not print; the authors' code has
    20 there, and divides by log2(n + 2) instead of sqrt(n). Every arm needs two evaluations per
    round for a standard deviation; a smaller budget is rejected.

    ``why`` is as in ``tpe``, plus ``round`` (from 1), ``arm``, ``surviving`` and ``shares`` (of
    each surviving arm in this round).
    """

    initial: int = Field(
        10,
        ge=1,
        description="Number of random evaluations of an arm before its first model is fitted.",
    )
    rounds: int = Field(
        3, ge=1, le=100, description="Number of rounds; each gets the same share of the budget."
    )
    exploration: float = Field(
        2.0, ge=0, le=1000, description="Weight of the standard deviation in an arm's upper bound."
    )
    arms: Literal["algorithm"] | dict[Literal["pieces"], int] = Field(
        "algorithm",
        description="What competes: algorithms, or {pieces: k}, the Cartesian product of k equal "
        "pieces of every hyperparameter's range.",
    )
    budget: int | None = Field(
        None, ge=1, description="Total number of evaluations (default: the study's budget)."
    )
    seconds: float | None = Field(
        None,
        gt=0,
        description="Instead of budget: total seconds of fitting (default: the study's budget).",
    )

    @model_validator(mode="after")
    def _one(self) -> "AdaptiveSuccessiveFiltering":
        if self.budget is not None and self.seconds is not None:
            raise ValueError("takes 'budget' or 'seconds', not both; remove one")
        return self

    @field_validator("arms", mode="wrap")
    @classmethod
    def _known(cls, arms, check):
        number = arms.get("pieces") if isinstance(arms, dict) and len(arms) == 1 else None
        if arms == "algorithm" or (type(number) is int and 2 <= number <= 10):
            return check(arms)
        raise ValueError("must be 'algorithm', or {pieces: k} with an integer k from 2 to 10")

    def planned(
        self, evaluations: int | None, seconds: float | None = None
    ) -> "AdaptiveSuccessiveFiltering":
        """Set ``budget`` or ``seconds`` to the study's if both are null."""
        if self.budget is not None or self.seconds is not None:
            return self
        if evaluations is None and seconds is None:
            raise UserError(
                "budget: must be written out where the study's budget is in CPU seconds: how many "
                "evaluations the rounds divide (or seconds: the time that they divide)"
            )
        return self.model_copy(update={"budget": evaluations, "seconds": seconds})

    def check_space(self, space: Space) -> None:
        """Reject designs, spaces without the arms, and budgets too small for them."""
        if self.design != "random":
            raise UserError(f"design: must be random: the arms take turns, not {self.design}")
        if self.algorithm is not None:
            raise UserError("algorithm: must be left out: the arms compete; take tpe for one")
        if self.seconds is not None and self.batch > 1:
            raise UserError(
                f"batch: must be 1, is {self.batch}: with a budget in seconds it depends on how "
                "long an evaluation has taken whose turn is next"
            )
        if self.arms == "algorithm":
            per_algorithm.check_algorithms(space, "take tpe, or arms: {pieces: 2}")
            self._check_budget(len(space.algorithms))
            return
        number = self.arms["pieces"]
        try:
            _pieces.check(space, number)
        except UserError as error:
            raise UserError(f"arms: {error}") from None
        self._check_budget(number ** len(_pieces.varied(space)))

    def _check_budget(self, arms: int) -> None:
        if self.seconds is not None and arms > MOST_ARMS:
            raise UserError(f"arms: {arms} are too many to share seconds; at most {MOST_ARMS}")
        needed = LEAST * arms * self.rounds
        if self.budget is not None and self.budget < needed:
            raise UserError(
                f"budget: {self.budget} evaluations (the study's, if not set) are too few for "
                f"{arms} arms in {self.rounds} rounds; the smallest budget is {needed}, {LEAST} "
                "per arm and round"
            )

    @property
    def minimum_evaluations(self) -> int:
        """None: ``initial`` applies per arm, and the first round has its own minimum."""
        return 1

    def parts(self, space: Space) -> dict[str, Space]:
        """Return the parts of the space that belong to the arms, by name."""
        if self.arms == "algorithm":
            return {name: space.restricted({ALGORITHM: name}) for name in space.algorithms}
        return _pieces.cut(space, self.arms["pieces"])

    def spans(self) -> Iterator[tuple[int, int]]:
        """Begin and end of every round, indefinitely; extra rounds have the last round's size.

        Applies only to a budget of evaluations.
        """
        self._check_budget(1)
        assert self.budget is not None
        sizes = allocate(np.ones(self.rounds), self.budget).tolist()
        ends = accumulate(chain(sizes, repeat(sizes[-1])), initial=0)
        return pairwise(ends)

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether the first arm's random evaluations, or the first round, are over.

        Always true with shares of seconds, because the evaluations' times decide whose turn it is.
        """
        if self.seconds is not None or given:
            return True
        return evaluations >= min(self.initial, next(self.spans())[1])

    def together(self, evaluations: int, most: int, given: int = 0) -> int:
        """See :meth:`Optimizer.together`."""
        if self.seconds is None:
            most = min(most, self._end(evaluations - given) - (evaluations - given))
        return super().together(evaluations, most, given)

    def _end(self, evaluations: int) -> int:
        """Return the end of the round that contains the evaluation after ``evaluations``."""
        return next(end for _, end in self.spans() if end > evaluations)

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan as TPE does, but not beyond the end of the round, if that is known."""
        if self.seconds is not None:
            yield from super().plan(history, generators)
            return
        left = self._end(history.made) - history.made
        yield from islice(super().plan(history, generators), left)

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest what the current arm's TPE would evaluate next."""
        if self.budget is None and self.seconds is None:
            raise UserError(
                "boasf needs the setting 'budget', the evaluations in all, or 'seconds'"
            )
        parts = self.parts(history.space)
        self._check_budget(len(parts))
        number, arm, shares = self.turn(history, list(parts.values()))
        names = list(parts)
        why: dict[str, Any] = {
            "round": number,
            "arm": names[arm],
            "surviving": [names[i] for i in shares],
            "shares": {names[i]: share for i, share in shares.items()},
        }
        own = per_algorithm.inside(history, parts[names[arm]])
        try:
            suggestion = super().suggest(own, rng)
        except UserError as error:  # a table may have no configuration in an arm
            raise UserError(f"arm '{names[arm]}': {error}") from None
        if suggestion.configuration in history.seen:  # the arm is exhausted
            others = [parts[name] for name in why["surviving"]]
            found = per_algorithm.elsewhere(history, others, rng)
            suggestion = Suggestion(found, {"origin": "fallback"})
            point = history.space.points([found])
            why["arm"] = next(name for name, part in parts.items() if part.holds(point)[0])
        return Suggestion(suggestion.configuration, {**suggestion.why, **why})

    def turn(self, history: History, parts: Sequence[Space]) -> tuple[int, int, dict[int, float]]:
        """Replay the rounds to find whose turn it is.

        Parameters
        ----------
        parts
            The arms' parts of the space.

        Returns
        -------
        number
            Number of the round, from 1.
        arm
            Index of the arm whose turn it is.
        shares
            Evaluations or seconds in the round, keyed by the index of each surviving arm, in order.
        """
        points = history.space.points([o.configuration for o in history.observations])
        errors = np.full(len(history), history.problem.metric.worst)
        errors[history.ok] = [history.observations[i].error for i in history.ok]
        ok = np.isin(np.arange(len(history)), history.ok)
        owned = [part.holds(points) & ok for part in parts]
        given = history.given
        costs = [1.0 if self.seconds is None else o.seconds for o in history.observations[given:]]
        surviving, weights = np.arange(len(parts)), np.ones(len(parts))
        end = 0
        for number in count(1):
            shares = self.divided(weights, number, sum(costs[:end]))
            least = LEAST if number == 1 and self.seconds is not None else 0
            place, end = spend(costs, end, shares, least)
            if place is not None:
                found = dict(zip(surviving.tolist(), shares.tolist(), strict=True))
                return number, int(surviving[place]), found
            known = given + end
            limit = history.limit(errors[:known][ok[:known]])
            rewards = 1 - np.minimum(errors[:known], limit) / limit
            bounds = settled(np.array([self.bound(rewards[owned[a][:known]]) for a in surviving]))
            kept = drawn(errors[:known], len(bounds)) < survival(bounds)
            surviving, weights = surviving[kept], softmax(bounds[kept])
        raise AssertionError("rounds have no end")

    def divided(self, weights: np.ndarray, number: int, spent: float) -> np.ndarray:
        """Divide a round between its arms.

        Parameters
        ----------
        weights
            Weights of the arms, of shape (n,).
        number
            Number of the round, from 1.
        spent
            Seconds that earlier rounds took.

        Returns
        -------
        shares
            Evaluations (int) or seconds, of shape (n,).
        """
        if self.seconds is None:
            begin, end = next(islice(self.spans(), number - 1, None))
            return allocate(weights, end - begin)
        rounds, left = self.rounds - number + 1, self.seconds - spent
        whole = left / rounds if rounds > 0 and left > 0 else self.seconds / self.rounds
        return weights / weights.sum() * whole

    def bound(self, rewards: np.ndarray) -> float:
        """Return the upper bound of an arm with these rewards; -inf if there are none."""
        if not len(rewards):
            return -np.inf
        return float(rewards.mean() + self.exploration * rewards.std() / np.sqrt(len(rewards)))


def spend(
    costs: Sequence[float], begin: int, shares: np.ndarray, least: int
) -> tuple[int | None, int]:
    """Let arms spend their shares of a round in turn.

    Parameters
    ----------
    costs
        Costs of all evaluations so far; the round starts at index ``begin``.
    shares
        What each arm may spend. The evaluation that reaches its share is the arm's last.
    least
        Minimum number of evaluations per arm.

    Returns
    -------
    place
        Position of the arm whose turn it is; None if all have spent their shares.
    end
        Number of evaluations before the next round, or so far.
    """
    for place, share in enumerate(shares.tolist()):
        used, made = 0.0, 0
        while used < share or made < least:
            if begin == len(costs):
                return place, begin
            used, made, begin = used + costs[begin], made + 1, begin + 1
    return None, begin


def allocate(weights: np.ndarray, total: int) -> np.ndarray:
    """Divide evaluations in proportion to weights, by largest remainders; ties go to the first.

    Parameters
    ----------
    weights
        Weights, of shape (n,).
    total
        Number of evaluations.

    Returns
    -------
    shares
        int, of shape (n,); they sum to ``total``.
    """
    quotas = np.round(weights / weights.sum() * total, 9)
    shares = np.floor(quotas).astype(int)
    first = np.argsort(shares - quotas, kind="stable")[: total - shares.sum()]
    shares[first] += 1
    return shares


def survival(bounds: np.ndarray) -> np.ndarray:
    """Return the survival probability of each arm, of shape (n,).

    Parameters
    ----------
    bounds
        Upper bounds, -inf for arms without a success, of shape (n,).
    """
    known = np.isfinite(bounds)
    if not known.any():
        return np.ones(len(bounds))
    low, high = bounds[known].min(), bounds[known].max()
    return np.where(known, (bounds - low) / (high - low) if high > low else 1.0, 0.0)


def softmax(values: np.ndarray) -> np.ndarray:
    """Return weights in proportion to exp(value), of shape (n,); equal if all are -inf."""
    if not np.isfinite(values.max()):
        return np.ones(len(values))
    return np.exp(values - values.max())


def drawn(errors: np.ndarray, size: int) -> np.ndarray:
    """Draw uniform numbers, of shape (size,); recomputing the filter gives the same ones.

    Parameters
    ----------
    errors
        Errors of all evaluations up to the end of the round, of shape (n,): the seed.
    """
    return np.random.default_rng(errors.astype(np.float32).view(np.uint32)).random(size)
