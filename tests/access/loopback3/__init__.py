"""Generated access rules, and which calls LoopBack 3 refuses by them; none is allowed here.

`cases.py` makes sets of rules for three models, one of which extends `User`, with rows and calls.
`recorded.json` says which calls LoopBack permits; `record.js` asks it. To record anew, which takes
npm and half a minute:

    python -m tests.access.loopback3 record

Other sets are recorded and compared, without keeping anything, by:

    python -m tests.access.loopback3 compare --seed 1 --sets 1000
"""
