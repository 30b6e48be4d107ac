"""What make passes on."""

import re

from support import ROOT


def test_values_that_begin_with_a_hyphen_are_values():
    """As in ``make ensemble TARGET=-change``: argparse takes "--target -change" for two options."""
    text = (ROOT / "Makefile").read_text()
    scripts = re.findall(r"^ensemble:.*?^$|^table:.*?^$|^status:.*?^$", text, re.M | re.S)
    assert len(scripts) == 3
    for script in scripts:
        assert re.findall(r'--[a-z]+="\$\$', script)
        assert not re.findall(r'--[a-z]+ "\$\$', script)
