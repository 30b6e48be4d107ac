"""Rising Bandits: algorithms compete for the budget (DivBO paper, RB; Li et al., AAAI 2020)."""

import numpy as np
from pydantic import Field

from ensemble_search.optimizers._model_based import per_algorithm
from ensemble_search.optimizers.base import History, Suggestion
from ensemble_search.runtime.errors import UserError
from ensemble_search.spaces.base import ALGORITHM


class RisingBandit(per_algorithm.ArmwiseBO):
    """One BO per algorithm, in rounds of pulls; algorithms that cannot catch up are eliminated.

    A pull is ``pull`` evaluations by the BO of one algorithm, and its reward is the best validation
    accuracy of that algorithm so far. Every surviving algorithm is pulled once a round. After a
    round, from the ``alpha``-th on, an algorithm's accuracy is at least its last reward l = r[-1],
    and at most u = min(1, r[-1] + (r[-1] - r[-alpha]) / alpha * pulls left); it is eliminated if u
    is below the l of another. This is MindWare's rule; the DivBO paper has pulls of 5 and alpha 3.
    The algorithm with the highest l always survives.

    The other settings are those of every BO.
    """

    pull: int = Field(5, ge=1, description="Evaluations of a pull.")
    alpha: int = Field(3, ge=2, description="Rounds before the first elimination, and of a slope.")
    budget: int | None = Field(
        None,
        ge=1,
        description="Evaluations in all, for the pulls left (default: the study's budget).",
    )

    def planned(self, evaluations: int | None, seconds: float | None = None) -> "RisingBandit":
        """Set ``budget`` to the study's if it is null."""
        return per_algorithm.with_budget(self, evaluations)

    def needs_results(self, evaluations: int) -> bool:
        """Whether the initial design is complete or an algorithm may have been eliminated."""
        return evaluations >= min(self.initial, self.alpha * self.pull)

    def suggest(self, history: History, rng: np.random.Generator) -> Suggestion:
        """Suggest the next configuration of the pulled algorithm."""
        if self.budget is None:
            raise UserError("rising-bandit needs the setting 'budget', the evaluations in all")
        names = history.space.algorithms
        worst = history.problem.metric.worst
        rewards = {
            name: running_best([_reward(o, name, worst) for o in history.observations])
            for name in names
        }
        arm, surviving = turn(rewards, len(history), self.pull, self.alpha, self.budget, worst)
        suggestion = self.within(history, arm, rng)
        return Suggestion(suggestion.configuration, {**suggestion.why, "surviving": surviving})


def turn(
    rewards: dict[str, np.ndarray],
    evaluations: int,
    pull: int,
    alpha: int,
    budget: int,
    most: float = 1.0,
) -> tuple[str, list[str]]:
    """Replay the bandit, and return whose turn it is after ``evaluations``.

    Parameters
    ----------
    rewards
        For every arm, the best accuracy after each evaluation (of whatever arm), of shape (n,),
        n >= evaluations.
    pull, alpha, budget
        See :class:`RisingBandit`.
    most
        The highest possible reward.

    Returns
    -------
    arm
        The arm that the next evaluation belongs to.
    surviving
        The arms not eliminated, in order.
    """
    surviving = list(rewards)
    played: dict[str, list[float]] = {arm: [] for arm in rewards}
    pulls = 0
    while True:
        for arm in surviving:
            pulls += 1
            if evaluations < pulls * pull:
                return arm, surviving
            played[arm].append(float(rewards[arm][pulls * pull - 1]))
        if len(played[surviving[0]]) >= alpha:
            left = max(-(-budget // pull) - pulls, 0)
            lower = {arm: played[arm][-1] for arm in surviving}
            upper = {arm: upper_bound(played[arm], alpha, left, most) for arm in surviving}
            highest = max(lower.values())
            surviving = [arm for arm in surviving if upper[arm] >= highest]


def upper_bound(rewards: list[float], alpha: int, left: int, most: float = 1.0) -> float:
    """Return what an arm may reach if its mean growth continues for ``left`` pulls."""
    slope = (rewards[-1] - rewards[-alpha]) / alpha
    return min(most, rewards[-1] + slope * left)


def running_best(values: list[float]) -> np.ndarray:
    """Return the largest value so far at every position, of shape (n,)."""
    return np.maximum.accumulate(np.array(values, dtype=float))


def _reward(observation, algorithm: str, worst: float) -> float:
    """Worst loss - loss of an evaluation; 0 if it failed or is another algorithm's."""
    own = observation.configuration[ALGORITHM] == algorithm
    return worst - observation.error if own and observation.prediction is not None else 0.0
