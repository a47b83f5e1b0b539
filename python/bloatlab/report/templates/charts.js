"use strict";
// Replaces the pictures with interactive charts. Each figure contains its data as JSON, and uPlot draws it; nothing is fetched.
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (name) => (name.startsWith("--") ? css(name) : name);
  const short = (v) => (v == null ? "" : Math.abs(v) >= 1e5 ? v.toExponential(2) : String(Number(v.toPrecision(4))));
  const font = '12px ' + (css("--plain") || "sans-serif");
  const charts = [];

  // Returns the index of a series' value nearest to index `hovered`. Series have different x values, so the series may have no value there.
  function nearest(u, series, hovered) {
    const values = u.data[series];
    if (values[hovered] != null) return hovered;
    for (let d = 1; d < values.length; d++) {
      const left = values[hovered - d], right = values[hovered + d];
      if (left != null || right != null) return left != null ? hovered - d : hovered + d;
      if (hovered - d < 0 && hovered + d >= values.length) break;
    }
    return hovered;
  }

  // Converts the panel's series for uPlot. The ends of an interval become two more series, which have no row in the legend.
  function columns(panel) {
    const tables = [], series = [{ label: panel.x.label, value: (u, v) => tick(panel.x, v) }], bands = [], own = [];
    for (const s of panel.series) {
      const stroke = () => colour(s.colour), x = panel.xs[s.x], points = s.kind === "points";
      own.push(series.length);
      series.push({
        label: s.label, quiet: s.quiet, stroke, width: points ? 0 : 1.5, spanGaps: false, dash: s.dash ? [6, 4] : undefined,
        value: (u, v) => short(v),
        points: { show: points, size: s.hollow ? 9 : 6, width: 1.5, stroke, fill: s.hollow ? "rgba(0,0,0,0)" : stroke },
        paths: points ? () => null : s.kind === "step" ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
      });
      tables.push([x, s.y]);
      if (s.low) {
        for (const edge of [s.high, s.low]) {
          series.push({ label: "", stroke: "rgba(0,0,0,0)", width: 0, points: { show: false }, edge: true });
          tables.push([x, edge]);
        }
        if (!points) bands.push({ series: [series.length - 2, series.length - 1], fill: () => colour(s.colour) + "2e" });
      }
    }
    return { data: tables.length ? uPlot.join(tables) : [[], []], series, bands, own };
  }

  function tick(axis, value) {
    if (value == null) return "";
    const named = (axis.ticks || []).find(([at]) => Math.abs(at - value) < 0.3);
    return named ? named[1] : short(value);
  }

  const scale = (axis) => ({ time: false, distr: axis.log ? 3 : 1, range: (u, lo, hi) => (u.zoomed && lo < hi ? [lo, hi] : axis.range) });

  // Returns the approximate width of the longest line of an axis's tick labels, in px, for `font`.
  const widest = (ticks) => 7 * Math.max(...ticks.flatMap(([, words]) => words.split("\n")).map((line) => line.length));

  // Makes an axis. `width` is the chart's width, for the horizontal axis only, whose tick labels get a smaller font if they have too little room, and are
  // tilted if that is not enough.
  function axis(given, side, width) {
    const tilted = side === 2 && given.ticks && given.ticks.length * 0.75 * widest(given.ticks) > width - 80;
    const crowded = side === 2 && given.ticks && given.ticks.length * widest(given.ticks) > width - 80;
    const made = {
      label: given.label, labelSize: side === 3 ? 22 : 20, labelFont: font, font: crowded ? font.replace("12px", "9px") : font, gap: 4, size: side === 3 ? (given.ticks ? 16 + 6 * Math.max(...given.ticks.map(([, words]) => words.length)) : 52) : given.ticks && given.ticks.some(([, words]) => words.includes("\n")) ? 46 : 30,
      stroke: () => css("--axis"), grid: { stroke: () => css("--line"), width: 1 }, ticks: { show: false },
      values: (u, splits) => splits.map((v) => (v == null ? "" : short(v))),
    };
    if (given.log) {
      // 1, 2 and 5 times the powers of ten, or only the powers if the range is wide. uPlot's own ticks start at the lower limit.
      made.splits = (u, index, low, high) => {
        const found = [], steps = high / low < 300 ? [1, 2, 5] : [1];
        if (!(low > 0 && high > low)) return found;
        for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
          for (const step of steps) {
            const value = Number((step * 10 ** power).toPrecision(3));
            if (value >= low && value <= high) found.push(value);
          }
        return found;
      };
      made.grid.filter = made.filter = (u, splits) => splits;
    }
    if (tilted) Object.assign(made, { rotate: -40, size: 14 + Math.ceil(0.5 * widest(given.ticks)) });
    if (given.ticks) {
      made.splits = () => given.ticks.map(([at]) => at);
      made.values = () => given.ticks.map(([, words]) => words);
      made.grid = { show: false };
    }
    return made;
  }

  // Draws the marks (reference levels and times) and the error bars of points.
  function drawMarks(u, panel) {
    const { ctx, bbox } = u, ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    for (const s of panel.series) {
      if (s.kind !== "points" || !s.low || !u.series[s.at].show) continue;
      ctx.strokeStyle = colour(s.colour);
      ctx.lineWidth = 1.4 * ratio;
      panel.xs[s.x].forEach((x, n) => {
        if (s.low[n] == null || s.high[n] == null) return;
        const at = u.valToPos(x, "x", true);
        ctx.beginPath();
        ctx.moveTo(at, u.valToPos(s.low[n], "y", true));
        ctx.lineTo(at, u.valToPos(s.high[n], "y", true));
        ctx.stroke();
      });
    }
    ctx.strokeStyle = ctx.fillStyle = css("--published");
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.lineWidth = ratio;
    ctx.font = 11 * ratio + "px " + (css("--plain") || "sans-serif");
    let used = -1e9;
    for (const m of [...panel.marks].sort((a, b) => a.value - b.value)) {
      const at = u.valToPos(m.value, m.axis, true);
      ctx.beginPath();
      if (m.axis === "x") {
        ctx.moveTo(at, bbox.top);
        ctx.lineTo(at, bbox.top + bbox.height);
        ctx.textAlign = "left";
        const row = at - used < ctx.measureText(m.label).width + 12 * ratio ? 2 : 1;
        if (m.label) { ctx.fillText(m.label, at + 3 * ratio, bbox.top + 12 * ratio * row); used = row === 1 ? at : -1e9; }
      } else {
        ctx.moveTo(bbox.left, at);
        ctx.lineTo(bbox.left + bbox.width, at);
        ctx.textAlign = "right";
        const below = at - bbox.top < 14 * ratio;
        ctx.fillText(m.label, bbox.left + bbox.width - 3 * ratio, at + (below ? 12 : -4) * ratio);
      }
      ctx.stroke();
    }
    ctx.restore();
  }

  // Writes the labels of points, each at the first place inside the chart where it covers neither a point nor another label, or else at the best.
  function drawLabels(u, panel) {
    const { ctx, bbox } = u, ratio = devicePixelRatio, height = 13 * ratio, gap = 6 * ratio, taken = [];
    const pos = (x, y) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
    for (const s of panel.series) panel.xs[s.x].forEach((x, n) => {
      if (s.y[n] == null) return;
      const [left, top] = pos(x, s.y[n]), half = 4 * ratio;
      taken.push([left - half, top - half, left + half, top + half]);
    });
    ctx.save();
    ctx.fillStyle = css("--ink") || css("--axis");
    ctx.strokeStyle = css("--published");
    ctx.lineWidth = 0.6 * ratio;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    for (const label of panel.labels || []) {
      const [x, y] = pos(label.x, label.y);
      if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
      ctx.font = (label.bold ? "bold " : "") + 11 * ratio + "px " + (css("--plain") || "sans-serif");
      const width = ctx.measureText(label.text).width;
      let best = null;
      for (const row of [0, -1, 1, -2, 2, -3, 3, -4, 4, -5, 5]) for (const side of [1, -1, 0]) {
        if (!row && !side || best && !best.cost) continue;
        const left = side > 0 ? x + gap : side < 0 ? x - gap - width : x - width / 2, top = y + row * height - height / 2;
        const outside = left < bbox.left || left + width > bbox.left + bbox.width || top < bbox.top - 4 || top + height > bbox.top + bbox.height;
        const cost = 100 * outside + taken.filter(([l, t, r, b]) => left < r && l < left + width && top < b && t < top + height).length;
        if (!best || cost < best.cost) best = { cost, left, top, row, side };
      }
      taken.push([best.left, best.top, best.left + width, best.top + height]);
      ctx.fillText(label.text, best.left, best.top + height / 2);
      if (Math.abs(best.row) > 1) {
        ctx.beginPath();
        ctx.moveTo(x, y);
        ctx.lineTo(best.side > 0 ? best.left : best.side < 0 ? best.left + width : x, best.top + (best.row > 0 ? 0 : height));
        ctx.stroke();
      }
    }
    ctx.restore();
  }

  // Makes uPlot's legend usable by keyboard, and hides the rows for the ends of intervals and for quiet series.
  function legend(u, title, named) {
    const table = u.root.querySelector(".u-legend");
    table.setAttribute("role", "group");
    table.setAttribute("aria-label", "Series of " + title);
    for (const part of table.querySelectorAll("tbody, tr")) part.setAttribute("role", "presentation");
    table.querySelectorAll("tr").forEach((row, n) => {
      const head = row.querySelector("th"), value = row.querySelector("td");
      if (value) value.setAttribute("role", "presentation");
      if (u.series[n].edge || u.series[n].quiet) { row.hidden = true; return; }
      // The row of x is hidden if the axis has no label, because uPlot would call the row "Value".
      if (n === 0) { row.hidden = !named; head.setAttribute("role", "presentation"); return; }
      head.setAttribute("role", "button");
      head.tabIndex = 0;
      head.setAttribute("aria-pressed", "true");
      head.addEventListener("keydown", (e) => {
        if (e.key === "Enter" || e.key === " ") { e.preventDefault(); head.click(); }
      });
    });
  }

  // Hides or shows what belongs to a series: the ends of its interval, and quiet series of the same label.
  function toggled(u, n) {
    u.series.forEach((s, k) => {
      if (s.quiet && k !== n && s.label === u.series[n].label && s.show !== u.series[n].show) u.setSeries(k, { show: u.series[n].show });
    });
    for (let k = n + 1; u.series[k] && u.series[k].edge; k++) {
      if (u.series[k].show !== u.series[n].show) u.setSeries(k, { show: u.series[n].show });
    }
    const head = u.root.querySelectorAll(".u-legend tr")[n]?.querySelector("th");
    if (head) head.setAttribute("aria-pressed", String(u.series[n].show));
  }

  function linked(link) { return charts.filter((c) => c.link === link); }

  function reset(link) {
    for (const { u, panel } of linked(link)) {
      u.zoomed = false;
      u.setScale("x", { min: panel.x.range[0], max: panel.x.range[1] });
    }
    for (const button of document.querySelectorAll("button.whole")) if (button.dataset.link === link) button.hidden = true;
  }

  // Zooms a chart, and all charts that are linked with it and have the same x axis.
  function zoom(from, min, max) {
    for (const { u, panel } of linked(from.link)) {
      if (panel.x.label !== from.panel.x.label) continue;
      u.zoomed = true;
      u.setScale("x", { min, max });
    }
    for (const button of document.querySelectorAll("button.whole")) if (button.dataset.link === from.link) button.hidden = false;
  }

  function build(panel, link, place, height) {
    const { data, series, bands, own } = columns(panel);
    panel.series.forEach((s, n) => { s.at = own[n]; });
    const entry = { link, panel };
    const u = new uPlot({
      width: Math.max(240, place.clientWidth), height, series, bands,
      scales: { x: scale(panel.x), y: { distr: panel.y.log ? 3 : 1, range: () => panel.y.range } },
      axes: [axis(panel.x, 2, place.clientWidth), axis(panel.y, 3)],
      padding: [8, 18, 0, 0],
      cursor: {
        dataIdx: nearest, drag: { x: true, y: false, setScale: false },
        sync: { key: link + "\n" + panel.x.label, setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: () => () => { reset(link); return null; } },
        points: { size: 7 },
      },
      legend: { live: true },
      hooks: {
        draw: [(self) => drawMarks(self, panel), (self) => drawLabels(self, panel)],
        setSeries: [(self, n) => { if (n != null) toggled(self, n); }],
        setSelect: [(self) => {
          const { left, width } = self.select;
          if (width > 4) zoom(entry, self.posToVal(left, "x"), self.posToVal(left + width, "x"));
          self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    }, data, place);
    entry.u = u;
    charts.push(entry);
    legend(u, panel.title, panel.x.label !== "");
    const over = u.over;
    over.tabIndex = 0;
    over.setAttribute("role", "application");
    over.setAttribute("aria-label", panel.title + ": arrow keys move the reading, plus and minus zoom");
    over.addEventListener("keydown", (e) => {
      const x = u.cursor.left == null || u.cursor.left < 0 ? u.bbox.width / devicePixelRatio / 2 : u.cursor.left;
      const step = { ArrowLeft: -6, ArrowRight: 6 }[e.key];
      if (step) { e.preventDefault(); u.setCursor({ left: Math.max(0, x + step), top: 10 }); }
      else if (e.key === "+" || e.key === "-" || e.key === "0") {
        e.preventDefault();
        if (e.key === "0") return reset(link);
        const at = u.posToVal(x, "x"), half = (u.scales.x.max - u.scales.x.min) * (e.key === "+" ? 0.25 : 1);
        zoom(entry, Math.max(panel.x.range[0], at - half), Math.min(panel.x.range[1], at + half));
      }
    });
    return u;
  }

  function start(figure) {
    const given = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const grid = figure.querySelector(".live");
    figure.classList.add("has-live");
    const boxes = given.panels.map((panel) => {
      const box = document.createElement("div"), title = document.createElement("p");
      title.className = "panel-title";
      title.textContent = panel.title;
      box.append(title);
      grid.append(box);
      return box;
    });
    given.panels.forEach((panel, n) => build(panel, given.link, boxes[n], given.panels.length === 1 ? 280 : 230));
    const button = figure.querySelector("button.whole");
    button.dataset.link = given.link;
    button.addEventListener("click", () => reset(given.link));
  }

  // Draws each chart only when it is about to come into view, so that a long report opens at once.
  function begin() {
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        seen.unobserve(target);
        try { start(target); } catch (error) { target.classList.remove("has-live"); console.error(error); }
      }
    }, { rootMargin: "600px" });
    for (const figure of document.querySelectorAll("figure[data-chart]")) seen.observe(figure);
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      for (const { u } of charts) u.setSize({ width: Math.max(240, u.root.parentElement.clientWidth), height: u.height });
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const { u } of charts) u.redraw(false, true);
    });
    placeNotes();
  }

  // Places each reason beside its cell when it opens. Without this script, reasons open at the foot of the window.
  function placeNotes() {
    document.addEventListener("toggle", (e) => {
      const note = e.target;
      if (!note.matches?.("[popover].reason") || e.newState !== "open") return;
      const button = document.querySelector(`[popovertarget="${note.id}"]`), at = button.getBoundingClientRect();
      const box = note.getBoundingClientRect();
      const below = at.bottom + box.height + 8 < innerHeight;
      note.style.inset = "auto";
      note.style.translate = "none";
      note.style.left = Math.max(8, Math.min(at.left, innerWidth - box.width - 8)) + "px";
      note.style.top = Math.max(8, below ? at.bottom + 6 : at.top - box.height - 6) + "px";
    }, true);
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
