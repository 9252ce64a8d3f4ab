"""What an audit of versions fails on."""

from audit import findings

FIXED = {"id": "PYSEC-1", "fix_versions": ["2.6.0", "2.7.1"]}
OPEN = {"id": "PYSEC-2", "fix_versions": []}


def test_fixable_vulnerabilities_and_versions_not_looked_up_are_findings():
    clean = {"name": "rich", "version": "15.0.0", "vulns": []}
    bad = {"name": "torch", "version": "2.4.0", "vulns": [OPEN, FIXED]}
    unseen = {"name": "nltk", "skip_reason": "Dependency not found on PyPI"}
    assert findings("a.txt", {"dependencies": [clean, {**bad, "vulns": [OPEN]}]}) == []
    assert findings("a.txt", {"dependencies": [clean, bad]}) == [
        "a.txt: torch 2.4.0: PYSEC-1, fixed in 2.6.0, 2.7.1"
    ]
    (line,) = findings("a.txt", {"dependencies": [clean, unseen]})
    assert line.startswith("a.txt: no advisories could be looked up for 1 of 2 packages (nltk")
