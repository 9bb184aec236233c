"""The style of a report: one column, light or dark as the reader likes it, and print."""

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
.headline .value { font-size: 1.45rem; font-weight: 650; line-height: 1.3; margin: 0 0 0.6rem;
  font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 0.9rem; width: 100%; }
th, td { padding: 0.38rem 0.7rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 600; border-bottom-width: 2px; white-space: nowrap; }
td, th { min-width: 4.5rem; }
td:first-child { min-width: 8rem; }
td.number, th.number { min-width: 0; text-align: right; font-variant-numeric: tabular-nums;
  white-space: nowrap; }
tr.whole td { font-weight: 600; }
tr.part td:first-child { color: var(--soft); padding-left: 1.6rem; }
.facts { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: 0.2rem 1.2rem;
  font-size: 0.9rem; margin: 0.4rem 0; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.notes { background: var(--note); padding: 0.6rem 1.1rem 0.6rem 2.2rem; margin: 0.5rem 0; }
svg { display: block; width: 100%; max-width: 38rem; height: auto; color: var(--ink);
  font-family: inherit; }
@media screen and (max-width: 40rem) {
  body { padding: 1.5rem 1rem 3rem; }
  .headline { margin: 1.2rem -1rem; padding: 1rem; }
  .headline .value { font-size: 1.25rem; }
  .cards thead { display: none; }
  .cards, .cards tbody, .cards tr, .cards td { display: block; }
  .cards tr { padding: 0.55rem 0; border-bottom: 1px solid var(--line); }
  .cards td, .cards td.number { display: flex; gap: 1rem; justify-content: space-between;
    padding: 0.1rem 0; border: 0; text-align: right; white-space: normal; }
  .cards td::before { content: attr(data-name); color: var(--soft); font-weight: 400;
    text-align: left; flex: none; max-width: 50%; }
  .cards td:empty { display: none; }
  .cards tr[class] td:first-child { padding-left: 0; text-align: left; font-weight: 600; }
  .cards tr[class] td:first-child::before { content: none; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: 0.5rem; } }
code { font: 0.9em ui-monospace, "SF Mono", Menlo, Consolas, monospace; overflow-wrap: anywhere; }
@page { margin: 15mm; }
@media print { body { padding: 0; max-width: none; font-size: 11pt; }
  :root { --ink: #000000; --soft: #444444; --line: #bbbbbb; --back: #ffffff; --wash: #ffffff;
    --accent: #000000; --note: #ffffff; }
  .notes { border: 1px solid var(--line); }
  h2, p { break-after: avoid; } svg, .headline, .facts, tr { break-inside: avoid; } }
"""
