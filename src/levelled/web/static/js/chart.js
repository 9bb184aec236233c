// Estimate and interval against the number of draws, with planned looks, and in grey the interval of as many random labels.

const HEIGHT = 320;
const BEGINNING = 0.1; // the share of draws in which the interval may be wider than the axis

/** Draws into an element, and again when it, the data or the colours change. */
export class Chart {
  constructor(element) {
    this.element = element;
    this.plot = null;
    this.data = null;
    new ResizeObserver(() => this.resize()).observe(element);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  /** `figures` are those of the trajectory, `looks` the numbers of draws of planned looks. */
  show(figures, looks, budget) {
    const column = (name) => figures.map((one) => one[name]);
    const draws = column("n_settled");
    this.last = Math.max(budget ?? 0, draws.at(-1) ?? 1);
    this.looks = looks;
    const read = (one, name) => (looks.length && one.look === null ? null : one[name]); // from the first look on
    const random = ["random_low", "random_high"].map((name) => figures.map((one) => read(one, name)));
    this.data = [draws, ...["value", "low", "high"].map(column), ...random];
    const settled = figures.filter((one) => one.n_settled >= (draws.at(-1) ?? 0) * BEGINNING);
    const late = (one) => one.n_settled >= (draws.at(-1) ?? 0) / 2; // before, the grey band may be cut off
    const shown = (one) => [one.high, one.value, late(one) ? read(one, "random_high") : null];
    this.highest = Math.max(...settled.flatMap(shown).filter(Number.isFinite));
    if (this.plot && this.drawnLast === this.last) this.plot.setData(this.data);
    else this.draw();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (this.plot && width) this.plot.setSize({ width, height: height || HEIGHT });
  }

  draw() {
    if (!this.data) return;
    this.plot?.destroy();
    this.drawnLast = this.last;
    const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
    const none = { stroke: "transparent", points: { show: false } };
    const options = {
      width: this.element.clientWidth || 600,
      height: this.element.clientHeight || HEIGHT,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false, range: [0, this.last] }, y: { range: (_, low) => around(low, this.highest) } },
      axes: [{ ...axis, label: "draws", labelSize: 24 }, { ...axis, size: 62 }],
      series: [
        {},
        { stroke: colour("accent"), width: 2, points: { show: this.data[0].length < 3, size: 6 } },
        none,
        none,
        none,
        none,
      ],
      bands: [
        { series: [5, 4], fill: colour("grey") },
        { series: [3, 2], fill: colour("band") },
      ],
      hooks: { drawAxes: [(plot) => this.drawLooks(plot, colour("soft"))] },
    };
    this.plot = new window.uPlot(options, this.data, this.element);
    this.plot.root.setAttribute("aria-hidden", "true");
  }

  drawLooks(plot, colour) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.setLineDash([2, 4]);
    ctx.beginPath();
    for (const look of this.looks) {
      const x = Math.round(plot.valToPos(look, "x", true));
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
    }
    ctx.stroke();
    ctx.restore();
  }
}

/** The range of the vertical axis: all that is drawn, and a little more. */
function around(low, high) {
  if (low === null || !Number.isFinite(high)) return [0, 1];
  const margin = (high - low || Math.abs(high) || 1) * 0.05;
  return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
}
