"""`ethereal studio`: a page on this computer that shows tables, starts runs and compares them.

The page decides nothing. It asks for what `ethereal run` would be asked for, and shows what a run left in its
folder. A run is a process of its own, so the server may end in the middle of it.
"""
