"""scikit-learn's models on small data: a program of library calls."""

from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SIZES = (100, 500)
CALLS = 5


def main(rng, size):
    x = rng.normal(size=(size, 10))
    y = (x[:, 0] + 0.5 * x[:, 1] ** 2 > 0.3).astype(int)
    model = make_pipeline(StandardScaler(), PCA(5), LogisticRegression())
    scores = cross_val_score(model, x, y, cv=5)
    forest = RandomForestClassifier(10, random_state=0).fit(x, y).score(x, y)
    return scores, forest, KMeans(4, n_init=3, random_state=0).fit(x).labels_
