"""Rising Bandits: algorithms compete for the budget (DivBO paper, RB; Li et al., AAAI 2020)."""

import sys
from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from pydantic import Field

from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Observation, Suggestion
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces.base import ALGORITHM


class RisingBandit(per_algorithm.ArmwiseBO):
    """One BO per algorithm, in rounds of pulls; algorithms that cannot catch up are eliminated.

    Rising Bandits (Li et al., AAAI 2020), with MindWare's elimination rule. The arms are the values
    of ``algorithm``. Each has its own ``bo``, which does not see evaluations of other arms. A pull
    is ``pull`` evaluations of one arm; its reward r is the best validation accuracy of the arm so
    far, 0 until an evaluation succeeds. Every round pulls each surviving arm once, in the order of
    the space. After each round, starting with round ``alpha``, an arm has the bounds l = r[-1] and
    u = min(1, r[-1] + (r[-1] - r[-alpha]) / alpha * pulls left); it is eliminated if u is below the
    l of another arm. The arm with the highest l always stays.

    In regression, r is how far the lowest loss is below a limit: 1 (the loss of the mean) or, if
    larger, twice the lowest loss of all arms, but never more than the highest loss so far.

    When all configurations of an arm have been evaluated, as happens in replays, its pulls use
    random configurations of the other survivors, then of eliminated arms. Given evaluations belong
    to no pull, but their accuracies count. The DivBO paper uses ``pull`` 5 and ``alpha`` 3.

    ``why`` is as in ``bo``, plus ``round`` (from 1; with one survivor, the round never ends),
    ``arm`` and ``surviving``.
    """

    pull: int = Field(5, ge=1, description="Number of evaluations per pull.")
    alpha: int = Field(
        3,
        ge=2,
        description="Number of rounds before the first elimination, and over which slopes "
        "are measured.",
    )
    budget: int | None = Field(
        None,
        ge=1,
        description="Total number of evaluations, which determines how many pulls are left "
        "(default: the study's budget).",
    )

    def planned(self, evaluations: int | None, seconds: float | None = None) -> "RisingBandit":
        """Set ``budget`` to the study's if it is null."""
        return per_algorithm.with_budget(self, evaluations)

    def needs_results(self, evaluations: int, given: int = 0) -> bool:
        """Whether the initial design is complete or an algorithm may have been eliminated."""
        return given > 0 or evaluations >= min(self.initial, self.alpha * self.pull)

    def together(self, evaluations: int, most: int, given: int = 0) -> int:
        """See :meth:`Optimizer.together`."""
        return super().together(evaluations, self._within_pull(evaluations, most, given), given)

    def _within_pull(self, evaluations: int, most: int, given: int) -> int:
        """Limit a plan to the end of the pull if results may then eliminate an algorithm."""
        if not self.needs_results(evaluations, given):
            return most
        return min(most, self.pull - (evaluations - given) % self.pull)

    def plan(
        self, history: History, generators: Iterator[np.random.Generator]
    ) -> Iterator[Suggestion]:
        """Plan batches that end with the pull."""
        left = self._within_pull(len(history), sys.maxsize, history.given)
        yield from islice(super().plan(history, generators), left)

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the next configuration of the algorithm being pulled."""
        if self.budget is None:
            raise UserError("rising-bandit needs the setting 'budget', the evaluations in all")
        names, given = history.space.algorithms, history.given
        losses = {
            name: np.minimum.accumulate([_loss(o, name) for o in history.observations])[given:]
            for name in names
        }

        def limit(end: int) -> float:
            past = history.observations[: given + end]
            return history.limit(np.array([o.error for o in past if o.prediction is not None]))

        number, arm, surviving = turn(
            losses, history.made, self.pull, self.alpha, self.budget, limit
        )
        suggestion = self.within(history, arm, rng, surviving)
        why = {
            "round": number,
            "arm": suggestion.configuration[ALGORITHM],
            "surviving": surviving,
        }
        return Suggestion(suggestion.configuration, {**suggestion.why, **why})


def turn(
    losses: dict[str, np.ndarray],
    evaluations: int,
    pull: int,
    alpha: int,
    budget: int,
    limit: Callable[[int], float] = lambda end: 1.0,
) -> tuple[int, str, list[str]]:
    """Replay the bandit and return whose turn it is after ``evaluations``.

    Parameters
    ----------
    losses
        Per arm, its lowest loss after each evaluation (of any arm), of shape (n,), n >=
        evaluations; infinite before the arm's first success.
    pull, alpha, budget
        See :class:`RisingBandit`.
    limit
        The loss that gives reward 0, as a function of the number of evaluations so far; higher
        losses are clipped to it.

    Returns
    -------
    number
        Number of the round, from 1; with one survivor, the round never ends.
    arm
        The arm of the next evaluation.
    surviving
        The arms not eliminated, in order.
    """
    surviving = list(losses)
    played: dict[str, list[float]] = {arm: [] for arm in losses}
    number, pulls = 1, 0
    while True:
        for arm in surviving:
            pulls += 1
            if evaluations < pulls * pull:
                return number, arm, surviving
            played[arm].append(float(losses[arm][pulls * pull - 1]))
        number += len(surviving) > 1
        if len(played[surviving[0]]) >= alpha:
            left = max(-(-budget // pull) - pulls, 0)
            most = limit(pulls * pull)
            rewards = {arm: [most - min(loss, most) for loss in played[arm]] for arm in surviving}
            upper = {arm: upper_bound(rewards[arm], alpha, left, most) for arm in surviving}
            highest = max(rewards[arm][-1] for arm in surviving)
            surviving = [arm for arm in surviving if upper[arm] >= highest]


def upper_bound(rewards: list[float], alpha: int, left: int, most: float = 1.0) -> float:
    """Return the reward that an arm may reach if its mean growth continues for ``left`` pulls."""
    slope = (rewards[-1] - rewards[-alpha]) / alpha
    return min(most, rewards[-1] + slope * left)


def _loss(observation: Observation, algorithm: str) -> float:
    """Return the loss of an evaluation; infinite if it failed or belongs to another algorithm."""
    own = observation.configuration[ALGORITHM] == algorithm
    return observation.error if own and observation.prediction is not None else np.inf
