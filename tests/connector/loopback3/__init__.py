"""Data sources as applications of LoopBack 3 write them, with what LoopBack's connector does.

`cases/` holds settings and calls; `recorded.json` what LoopBack's connector sent and returned,
written by `record.js`. The tests make the same calls with `app.connector`.
"""
