"""How a report looks on a screen, in the dark and on paper."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --ink: #1c1f24; --soft: #5b616b; --line: #d9dce1;
  --back: #ffffff; --wash: #f5f6f8; --accent: #1c63b8; --note: #fff6dd; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --soft: #a2a9b4; --line: #383d45;
  --back: #16181c; --wash: #1f2329; --accent: #7db3f2; --note: #38301a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 60rem; background: var(--back);
  color: var(--ink); font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 2.4rem 0 0.5rem; }
p { margin: 0.4rem 0; max-width: 46rem; }
.soft { color: var(--soft); font-size: 0.9rem; }
.headline { margin: 1.6rem 0; padding: 1.1rem 1.3rem; background: var(--wash);
  border-left: 4px solid var(--accent); }
.headline .value { font-size: 2.3rem; font-weight: 650; line-height: 1.15;
  font-variant-numeric: tabular-nums; }
.headline .interval { font-size: 1.15rem; color: var(--soft); margin-left: 0.6rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; width: 100%; }
th, td { padding: 0.38rem 0.7rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; white-space: nowrap; }
td, th { min-width: 6rem; }
td.number, th.number { min-width: 0; text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
tr.whole td { font-weight: 600; }
tr.part td:first-child { color: var(--soft); }
.facts { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: 0.2rem 1.2rem;
  font-size: 0.9rem; margin: 0.4rem 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.notes { background: var(--note); padding: 0.6rem 1.1rem 0.6rem 2.2rem; margin: 0.5rem 0; }
svg { display: block; width: 100%; max-width: 46rem; height: auto; color: var(--ink);
  font-family: inherit; }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@media print { body { padding: 0; max-width: none; font-size: 11pt; }
  :root { --ink: #000000; --soft: #444444; --line: #bbbbbb; --back: #ffffff; --wash: #ffffff;
    --accent: #000000; --note: #ffffff; }
  .notes { border: 1px solid var(--line); }
  h2 { break-after: avoid; } svg, .headline, tr { break-inside: avoid; } }
"""
