"""Numbers and claims of four papers, and pages that compare them with ours; a folder each."""
