-- A plan must not change while it is executed, nor by having been executed (SQL Tuning Guide 19c, "Query Optimizer
-- Concepts").
ALTER SESSION SET OPTIMIZER_ADAPTIVE_PLANS = FALSE OPTIMIZER_ADAPTIVE_STATISTICS = FALSE
