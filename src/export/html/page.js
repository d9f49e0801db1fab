/* SPDX-License-Identifier: MIT */
/* The page of `side report --html`: reads both blocks of data, and makes sections, tables and charts. */
"use strict";
(function () {

/* ---- data ---- */

/* The characters of utf8_is_control(): names with them would change the text around them. */
const controls = /[\u0080-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/* Integers beyond 2^53 become BigInt, so that no digit is changed. Controls in texts become visible. */
function readValue(key, value, context) {
	if (typeof value === "number" && !Number.isSafeInteger(value) && context && /^-?\d+$/.test(context.source))
		return BigInt(context.source);
	if (typeof value === "string")
		return value.replace(controls, (control) => "\\u" + control.charCodeAt(0).toString(16).padStart(4, "0"));
	return value;
}

const lines = JSON.parse(document.getElementById("report-data").textContent, readValue);
const chart = JSON.parse(document.getElementById("chart-data").textContent, readValue);
const linesOf = (type) => lines.filter((line) => line.type === type);
const overview = linesOf("overview")[0] || {dir: "", events: 0};
const width = 1000; /* of charts, in units of their own; narrow screens get fewer */

/* ---- texts ---- */

function formatCount(value) {
	if (value === null || value === undefined)
		return "";
	if (typeof value === "number" && !Number.isInteger(value))
		return value.toLocaleString("en", {maximumSignificantDigits: 6});
	return value.toLocaleString("en");
}

/* Four significant digits, as in the text of `side report`. */
function formatDuration(value) {
	if (value === null || value === undefined)
		return "";
	const units = ["ns", "us", "ms", "s"];
	let number = Number(value), unit = 0;
	for (; unit < 3 && Math.abs(number) >= 999.95; unit++)
		number /= 1000;
	if (!unit)
		return (Number.isInteger(number) ? number : number.toFixed(1)) + " ns";
	const size = Math.abs(number);
	return number.toFixed(size < 9.9995 ? 3 : size < 99.995 ? 2 : 1) + " " + units[unit];
}

function formatBytes(value) {
	if (value === null || value === undefined)
		return "";
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let number = Number(value), unit = 0;
	for (; unit < 4 && number >= 1024; unit++)
		number /= 1024;
	return (unit ? number.toFixed(number < 10 ? 2 : 1) : formatCount(value)) + " " + units[unit];
}

const formatRate = (value) => value === null || value === undefined ? "" : formatCount(Math.round(Number(value)));
const formatShare = (part, whole) => (Number(whole) ? 100 * Number(part) / Number(whole) : 0).toFixed(1) + " %";
const formatUnit = {ns: formatDuration, bytes: formatBytes, events: formatCount};
const plural = (count, one, many) => formatCount(count) + " " + (Number(count) === 1 ? one : many || one + "s");

function processText(line) {
	const name = line.procname && line.vpid !== undefined ? line.procname + ":" + line.vpid
		: line.procname || (line.vpid !== undefined ? "process " + line.vpid : "");
	return name || line.hostname || "?";
}

function byText(line) {
	if (line.by_stack)
		return line.by;
	if (line.by_symbol && line.by_symbol.function)
		return line.by_symbol.function;
	return line.by === null ? (line.others ? "(others)" : "-") : String(line.by);
}

/* ---- elements ---- */

/* Texts are always text nodes: names of a trace can contain anything. */
function make(name, attributes, ...children) {
	const element = document.createElement(name);
	for (const [key, value] of Object.entries(attributes || {}))
		if (key === "onclick" || key === "oninput" || key === "onchange")
			element.addEventListener(key.slice(2), value);
		else if (value !== null && value !== undefined && value !== false)
			element.setAttribute(key, value === true ? "" : value);
	element.append(...children.filter((child) => child !== null && child !== undefined));
	return element;
}

const content = document.getElementById("content");

/* Makes a section, and its link in the navigation. */
function section(id, title, explanation) {
	const element = make("section", {id, "aria-labelledby": id + "-title"}, make("h2", {id: id + "-title"}, title));
	if (explanation)
		element.append(make("p", {class: "explain"}, explanation));
	content.append(element);
	document.getElementById("sections").append(make("li", null, make("a", {href: "#" + id}, title)));
	return element;
}

const notes = [];
const note = (text) => notes.push(text);

/* ---- tables ---- */

const rowsShown = 40;

function compareValues(left, right) {
	if (typeof left === "string" || typeof right === "string")
		return String(left ?? "").localeCompare(String(right ?? ""));
	const one = left ?? -1, other = right ?? -1;
	return one < other ? -1 : one > other ? 1 : 0;
}

function makeCell(column, row) {
	const value = column.value(row);
	const cell = make("td", {class: column.kind || null});
	if (column.kind === "number" && value !== null && value !== undefined)
		cell.dataset.value = String(value);
	if (column.show)
		cell.append(column.show(row));
	else
		cell.append(column.format ? column.format(value) : value === null || value === undefined ? "" : String(value));
	return cell;
}

/*
 * Adds a table to a section. Columns have a title, value(row), and optionally kind ("number",
 * "name"), format(value) or show(row). Columns are sorted by buttons; long tables have a filter, and
 * show `most` rows at first.
 */
function addTable(parent, id, caption, columns, rows, most = rowsShown) {
	const body = make("tbody"), status = make("p", {class: "status", role: "status", id: id + "-status"});
	const heads = columns.map((column) => make("th", {scope: "col", class: column.kind === "number" ? "number" : null},
		!column.title ? make("span", {class: "unseen"}, column.unseen) : column.show && column.kind !== "name" ? column.title
			: make("button", {type: "button", onclick: () => sortBy(column)}, column.title)));
	const more = make("button", {type: "button", id: id + "-more", onclick: () => { all = true; render(); }});
	let shown = rows.slice(), all = false, sorted = null, ascending = false, text = "";

	function sortBy(column) {
		ascending = sorted === column ? !ascending : column.kind !== "number";
		sorted = column;
		heads.forEach((head, i) => {
			if (columns[i] === column)
				head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
			else
				head.removeAttribute("aria-sort");
		});
		render();
	}

	function render() {
		const words = text.toLowerCase();
		shown = rows.filter((row) => !words || columns.some((column) => String(column.value(row) ?? "").toLowerCase().includes(words)));
		if (sorted)
			shown.sort((left, right) => (ascending ? 1 : -1) * compareValues(sorted.value(left), sorted.value(right)));
		const visible = all ? shown : shown.slice(0, most);
		body.replaceChildren(...visible.map((row) => make("tr", null, ...columns.map((column) => makeCell(column, row)))));
		more.hidden = visible.length === shown.length;
		more.textContent = "Show all " + formatCount(shown.length) + " rows";
		status.textContent = words ? plural(shown.length, "row matches", "rows match") : "";
	}

	if (rows.length > 12)
		parent.append(make("div", {class: "tools"}, make("div", {class: "grow"},
			make("label", {for: id + "-filter"}, "Filter rows"),
			make("input", {type: "search", id: id + "-filter", autocomplete: "off",
				oninput: (event) => { text = event.target.value; render(); }}))));
	parent.append(make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption + ", table"},
		make("table", {id}, make("caption", {class: "unseen"}, caption), make("thead", null, make("tr", null, ...heads)), body)), more, status);
	render();
}

const nameColumn = (title, value) => ({title, value, kind: "name"});
const numberColumn = (title, value, format) => ({title, value, kind: "number", format: format || formatCount});

function shareColumn(title, value, most) {
	return {title, unseen: "Bar", value, kind: "track", show: (row) => {
		const bar = make("span", {class: "bar", "aria-hidden": "true"});
		bar.style.width = (most ? Math.max(0.5, 100 * Number(value(row)) / most) : 0) + "%";
		return bar;
	}};
}

function frameText(frame) {
	if (frame.function)
		return frame.function;
	if (frame.module)
		return frame.module.replace(/.*\//, "") + "+0x" + BigInt(frame.offset || 0).toString(16);
	return "0x" + BigInt(frame.address || 0).toString(16);
}

/* A stack that opens on request. The closed stack shows the first callers too: many stacks begin in the same function. */
function makeStack(title, frames) {
	if (!frames || !frames.length)
		return make("span", {class: "source"}, title ? title + ": not recorded" : "not recorded");
	return make("details", null, make("summary", {class: "name"}, (title ? title + ": " : "") + frameText(frames[0]),
		frames.length > 1 ? make("span", {class: "source"}, " ← " + frames.slice(1, 3).map(frameText).join(" ← ")) : null),
		make("ol", {class: "stack"}, ...frames.map((frame) => make("li", null, frameText(frame),
			frame.file ? make("span", {class: "source"}, " " + frame.file.replace(/.*\//, "") + ":" + frame.line) : null,
			frame.inlined ? make("span", {class: "source"}, " [inlined]") : null))));
}

/* ---- summary ---- */

function addSummary() {
	const part = section("summary", "Summary");
	const cards = make("dl", {class: "cards"});
	const card = (title, value, bad) => cards.append(make("div", {class: bad ? "bad" : null}, make("dt", null, title), make("dd", null, value)));

	const name = overview.dir.replace(/\/+$/, "").replace(/.*\//, "") || "Trace report";

	document.getElementById("title").textContent = name;
	document.title = "Report of " + name;
	document.getElementById("lead").textContent = plural(overview.events, "event") + " of " + plural(overview.processes || 0, "process", "processes") +
		(overview.duration_ns !== undefined ? " in " + formatDuration(overview.duration_ns) + ", from " + overview.begin_time.replace("T", " ").replace("Z", " UTC") : "") + ".";
	card("Events", formatCount(overview.events));
	card("Processes", formatCount(overview.processes));
	if (overview.duration_ns !== undefined)
		card("Duration", formatDuration(overview.duration_ns));
	if (overview.rate !== undefined && overview.rate !== null)
		card("Events per second", formatRate(overview.rate));
	card("Lost events", formatCount(overview.lost), overview.lost > 0);
	if (overview.lost_packets)
		card("Missing packets", formatCount(overview.lost_packets), true);
	if (overview.lost_bytes)
		card("Lost bytes", formatBytes(overview.lost_bytes), true);
	part.append(cards);
	if (overview.lost > 0 || overview.lost_packets || overview.lost_bytes)
		part.append(make("p", {class: "alert"}, "The trace lacks events. Counts and times are those of the events that were recorded."));
	if (overview.damaged)
		part.append(make("p", {class: "alert"}, "A part of the trace could not be read. The page has the remainder."));
	if (overview.untimed)
		note(plural(overview.untimed, "event has", "events have") + " no time, so the timeline does not show them.");
}

/* ---- colours ---- */

/* The same function has the same colour in all charts. */
function fillOf(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
	return "fill-" + ((hash ^ hash >>> 11 ^ hash >>> 21) & 7);
}

/* Cuts a text to a width in units of a chart. Adds no "…": the text must remain a part of the name that a screen reader reads. */
function fitText(text, space) {
	const most = Math.floor((space - 6) / 6.4);
	return most < 3 ? "" : text.slice(0, most);
}

/* Cuts only the name: a part of the number would be a wrong number. */
function laneText(lane, space) {
	const count = lane.thread.events ? " · " + plural(lane.thread.events, "event") : "", whole = lane.name + count;
	return fitText(whole, space).length === whole.length ? whole : fitText(lane.name, space - 6.4 * (count.length + 1)) + "…" + count;
}

const chartWidth = (element) => Math.max(280, Math.min(1600, Math.round(element.clientWidth || width)));

/* ---- timeline ---- */

const laneHeight = 34, callHeight = 15, titleHeight = 18, callRows = 6, lanesShown = 24;

/* The counts of a thread: a negative number is a run of empty intervals. */
function expandBins(thread) {
	const bins = new Float64Array(chart.bins);
	let at = 0;
	for (const count of thread.bins)
		if (count < 0)
			at -= count;
		else
			bins[at++] = count;
	return bins;
}

function threadText(thread) {
	if (thread.process < 0)
		return "all other threads";
	const name = thread.name ? thread.name + (thread.thread !== undefined ? " (" + thread.thread + ")" : "")
		: thread.thread !== undefined ? "thread " + thread.thread : thread.part ? "calls of thread " + thread.part : "all threads";
	return thread.process_name + ", " + name;
}

function readLanes() {
	const lanes = chart.threads.map((thread) => ({thread, name: threadText(thread), bins: expandBins(thread), calls: [], rows: 0}));
	for (let i = 0; i + 4 < chart.slices.length; i += 5) {
		const lane = lanes[chart.slices[i]], depth = chart.slices[i + 3];
		const call = {begin: chart.slices[i + 1], duration: chart.slices[i + 2], depth,
			name: chart.functions[chart.slices[i + 4]], lane};
		lane.calls.push(call);
		lane.rows = Math.max(lane.rows, Math.min(callRows, depth + 1));
	}
	return lanes;
}

function readLosses() {
	const losses = [];
	for (let i = 0; i + 4 < chart.losses.length; i += 5)
		losses.push({process: chart.losses[i], begin: chart.losses[i + 1], end: chart.losses[i + 2], count: chart.losses[i + 3], packets: chart.losses[i + 4]});
	return losses;
}

const lossText = (loss) => plural(loss.count, loss.packets ? "lost packet" : "lost event") + " between " + formatDuration(loss.begin) + " and " + formatDuration(loss.end);

function addTimeline() {
	if (!chart.begin_ns || !chart.threads.length)
		return;
	const part = section("time", "Timeline", "Events of each thread over time" + (chart.slices.length ? ", with the longest calls below them" : "") +
		". Red marks are times in which events were lost.");
	const lanes = readLanes(), losses = readLosses();
	const end = Math.max(1, Number(overview.duration_ns || 0), ...lanes.map((lane) => lane.thread.last || 0),
		lanes.reduce((most, lane) => lane.calls.reduce((last, call) => Math.max(last, call.begin + call.duration), most), 0));
	const status = make("p", {class: "status", role: "status", id: "timeline-status"});
	const svg = d3.select(document.createElementNS("http://www.w3.org/2000/svg", "svg"))
		.attr("id", "timeline").attr("tabindex", 0).attr("role", "application")
		.attr("aria-label", "Timeline of threads").attr("aria-describedby", "timeline-keys timeline-status");
	const more = make("button", {type: "button", id: "timeline-more", onclick: () => { shown = lanes.length; more.hidden = true; draw(); }},
		"Show all " + formatCount(lanes.length) + " threads");
	let shown = Math.min(lanes.length, lanesShown), chosen = -1, space = width;
	let begin = 0, length = end; /* the visible part of the trace */

	const zoom = d3.zoom().filter(() => d3.event.type === "wheel" ? d3.event.ctrlKey || d3.event.metaKey : !d3.event.button && !d3.event.ctrlKey)
		.on("zoom", () => {
			const scale = d3.event.transform.rescaleX(d3.scaleLinear([0, end], [0, space]));
			[begin, length] = [scale.domain()[0], scale.domain()[1] - scale.domain()[0]];
			draw();
		});

	function setRange(from, size) {
		const least = Math.min(end, Math.max(20, end / 1e7));
		size = Math.max(least, Math.min(end, size));
		from = Math.max(0, Math.min(end - size, from));
		const scale = end / size;
		svg.call(zoom.transform, d3.zoomIdentity.translate(-from / end * space * scale, 0).scale(scale));
	}
	const zoomBy = (factor) => setRange(begin + length / 2 - length / factor / 2, length / factor);
	const moveBy = (fraction) => setRange(begin + length * fraction, length);

	function choose(step) {
		chosen = Math.max(0, Math.min(shown - 1, chosen + step));
		draw();
		tell(lanes[chosen].name + ": " + plural(countVisible(lanes[chosen]), "event") + " in view");
	}
	function countVisible(lane) {
		let count = 0;
		for (let i = Math.floor(begin / chart.width_ns); i < Math.min(chart.bins, (begin + length) / chart.width_ns); i++)
			count += lane.bins[i];
		return count;
	}
	const tell = (text) => { status.textContent = text; };
	const rangeText = () => "From " + formatDuration(Math.round(begin)) + " to " + formatDuration(Math.round(begin + length)) + " after the first event";

	/* One step for each unit of width: the largest interval in it. */
	function areaPath(lane, scale, top) {
		const most = d3.max(lane.bins) || 1, first = Math.max(0, Math.floor(begin / chart.width_ns));
		const last = Math.min(chart.bins - 1, Math.floor((begin + length) / chart.width_ns));
		const steps = [];
		let path = "", column = -1, high = 0;
		for (let i = first; i <= last; i++) {
			const left = Math.max(0, Math.floor(scale(i * chart.width_ns)));
			if (left !== column && column >= 0) {
				steps.push([column, high]);
				high = 0;
			}
			column = left;
			high = Math.max(high, lane.bins[i]);
		}
		if (column >= 0)
			steps.push([column, high]);
		const stop = Math.min(space, scale((last + 1) * chart.width_ns));
		steps.forEach(([left, count], i) => {
			const right = i + 1 < steps.length ? steps[i + 1][0] : stop;
			if (count) {
				/* Keeps a single event visible. */
				const height = Math.max(1.5, Math.sqrt(count / most) * (laneHeight - 6));
				path += "M" + left + "," + (top + laneHeight) + "v" + (-height).toFixed(1) + "H" + Math.max(left + 1, right).toFixed(1) + "v" + height.toFixed(1) + "z";
			}
		});
		return path;
	}

	function drawCalls(group, lane, scale, top) {
		let drawn = 0;
		/* The longest calls come first, so the limit leaves out calls that are hardly visible. */
		for (const call of lane.calls) {
			const left = scale(call.begin), right = scale(call.begin + call.duration);
			if (right < 0 || left > space || right - left < 0.4 || call.depth >= callRows || drawn > 1500)
				continue;
			drawn++;
			const from = Math.max(0, left), wide = Math.min(space, right) - from, y = top + laneHeight + call.depth * callHeight;
			group.append("rect").attr("class", "call " + fillOf(call.name)).attr("x", from).attr("y", y)
				.attr("width", Math.max(0.8, wide)).attr("height", callHeight - 1)
				.on("click", () => tell(callText(call))).append("title").text(callText(call));
			if (wide > 30)
				group.append("text").attr("class", "call-text").attr("x", from + 4).attr("y", y + 11).text(fitText(call.name, wide));
		}
	}
	const callText = (call) => call.name + ": " + formatDuration(call.duration) + ", " +
		formatDuration(call.begin) + " after the first event, in " + call.lane.name;

	function drawLosses(group, scale, process, top, height) {
		for (const loss of losses) {
			if (process !== null && loss.process !== process && loss.process >= 0)
				continue;
			const left = scale(loss.begin), right = scale(loss.end);
			if (right < 0 || left > space)
				continue;
			group.append("rect").attr("class", "loss").attr("x", Math.max(0, left)).attr("y", top)
				.attr("width", Math.max(2, Math.min(space, right) - Math.max(0, left))).attr("height", height)
				.append("title").text(lossText(loss));
			if (process === null)
				group.append("path").attr("class", "loss-mark").attr("d", "M" + right + "," + (top + 8) + "l-5,-8h10z").append("title").text(lossText(loss));
		}
	}

	function draw() {
		space = chartWidth(svg.node());
		zoom.extent([[0, 0], [space, 1]]).translateExtent([[0, -Infinity], [space, Infinity]]).scaleExtent([1, Math.max(1, Math.min(1e7, end / 20))]);
		const scale = d3.scaleLinear([begin, begin + length], [0, space]);
		let top = 26;
		svg.selectAll("*").remove();
		const back = svg.append("g").attr("aria-hidden", "true"), front = svg.append("g").attr("aria-hidden", "true");
		lanes.slice(0, shown).forEach((lane, i) => {
			const height = titleHeight + laneHeight + lane.rows * callHeight + 8;
			if (i === chosen)
				back.append("rect").attr("class", "lane-chosen").attr("x", 0).attr("y", top).attr("width", space).attr("height", height);
			front.append("line").attr("class", "lane-line").attr("x1", 0).attr("x2", space).attr("y1", top + titleHeight + laneHeight).attr("y2", top + titleHeight + laneHeight);
			front.append("text").attr("x", 6).attr("y", top + 14).text(laneText(lane, space - 6));
			front.append("path").attr("class", "area").attr("d", areaPath(lane, scale, top + titleHeight));
			drawLosses(front, scale, lane.thread.process, top + titleHeight, laneHeight);
			drawCalls(front, lane, scale, top + titleHeight);
			top += height;
		});
		drawLosses(front, scale, null, 0, 6);
		svg.attr("viewBox", "0 0 " + space + " " + top);
		const axis = svg.append("g").attr("aria-hidden", "true").attr("transform", "translate(0,24)")
			.call(d3.axisTop(scale).ticks(Math.max(2, space / 130)).tickSizeInner(4).tickFormat((value) => formatDuration(Math.round(value))));
		axis.selectAll("text").attr("text-anchor", "middle").each(function () {
			const x = Number((/\(([-\d.]+)/.exec(this.parentNode.getAttribute("transform")) || [0, 0])[1]);
			if (x < 30 || x > space - 30)
				this.setAttribute("text-anchor", x < 30 ? "start" : "end");
		});
		tell(rangeText());
	}

	const button = (id, text, label, action) => make("button", {type: "button", id, "aria-label": label, onclick: action}, text);
	part.append(make("div", {class: "tools"},
		button("timeline-in", "Zoom in", "Zoom in", () => zoomBy(2)), button("timeline-out", "Zoom out", "Zoom out", () => zoomBy(0.5)),
		button("timeline-left", "←", "Move to earlier times", () => moveBy(-0.5)), button("timeline-right", "→", "Move to later times", () => moveBy(0.5)),
		button("timeline-reset", "Whole trace", "Show the whole trace", () => setRange(0, end))),
		svg.node(), more, status,
		make("p", {class: "explain keys", id: "timeline-keys"}, "Drag to move, pinch or turn the wheel with Ctrl to zoom. Keys: ← → move, + − zoom, Home shows all, ↑ ↓ choose a thread."));
	more.hidden = shown === lanes.length;
	svg.on("keydown", () => {
		const actions = {ArrowLeft: () => moveBy(-0.25), ArrowRight: () => moveBy(0.25), "+": () => zoomBy(2), "=": () => zoomBy(2), "-": () => zoomBy(0.5),
			Home: () => setRange(0, end), ArrowDown: () => choose(1), ArrowUp: () => choose(-1)};
		const action = actions[d3.event.key];
		if (!action || d3.event.ctrlKey || d3.event.altKey || d3.event.metaKey)
			return;
		d3.event.preventDefault();
		action();
	});
	svg.call(zoom).on("dblclick.zoom", null);
	svg.node().style.touchAction = "pan-y";
	draw();
	redraws.push(draw);
	addLongestCalls(part, lanes, setRange, svg.node());
	addThreads(part, lanes);
	if (chart.all_slices > chart.nr_slices)
		note("The timeline has the " + formatCount(chart.nr_slices) + " longest of " + formatCount(chart.all_slices) + " calls.");
	if (chart.merged_threads)
		note("The timeline shows the " + formatCount(chart.threads.length - 1) + " threads with the most events; " + plural(chart.merged_threads, "other") + " are one row.");
	if (chart.uncounted_threads)
		note(plural(chart.uncounted_threads, "event") + " of further threads are in the row of all other threads.");
	note("The timeline counts events in intervals of " + formatDuration(chart.width_ns) + ".");
}

const longestShown = 200;

function addLongestCalls(part, lanes, setRange, target) {
	const calls = lanes.flatMap((lane) => lane.calls).sort((left, right) => right.duration - left.duration).slice(0, longestShown);
	if (!calls.length)
		return;
	part.append(make("h3", null, "Longest calls"));
	addTable(part, "table-longest", "Longest calls", [nameColumn("Function", (call) => call.name),
		numberColumn("Duration", (call) => call.duration, formatDuration), numberColumn("After the first event", (call) => call.begin, formatDuration),
		{title: "Thread", value: (call) => call.lane.name}, {title: "", unseen: "In the timeline", value: () => "", show: (call) => make("button", {type: "button",
			"aria-label": "Show this call of " + call.name + " in the timeline",
			onclick: () => { setRange(call.begin - call.duration, 3 * call.duration); target.focus(); target.scrollIntoView({block: "center"}); }}, "Show")}],
		calls, 10);
}

function addThreads(part, lanes) {
	part.append(make("h3", null, "Threads"));
	addTable(part, "table-threads", "Threads", [nameColumn("Thread", (lane) => lane.name), numberColumn("Events", (lane) => lane.thread.events),
		numberColumn("First event", (lane) => lane.thread.first, formatDuration), numberColumn("Last event", (lane) => lane.thread.last, formatDuration)],
		lanes.filter((lane) => lane.thread.events));
}

/* ---- trees: flame graph and call tree ---- */

function finishTree(tree) {
	for (const node of tree.nodes) {
		const parent = node.parent;
		(parent ? parent.children : tree.roots).push(node);
		node.depth = parent ? parent.depth + 1 : 0;
	}
	const order = (left, right) => right.total - left.total || (left.name < right.name ? -1 : 1);
	tree.roots.sort(order);
	tree.nodes.forEach((node) => node.children.sort(order));
	return tree;
}

/* A tree of the chart data: five numbers for each node. */
function readTree(data, title) {
	const tree = {id: data.id, unit: data.unit, title, weight: data.weight, roots: [], nodes: []};
	for (let i = 0; i + 4 < data.nodes.length; i += 5)
		tree.nodes.push({parent: data.nodes[i] < 0 ? null : tree.nodes[data.nodes[i]], name: data.names[data.nodes[i + 1]],
			total: data.nodes[i + 2], self: data.nodes[i + 3], count: data.nodes[i + 4], children: []});
	if (data.all_nodes > data.nr_nodes)
		note("The flame graph “" + title + "” has the " + formatCount(data.nr_nodes) + " heaviest of " + formatCount(data.all_nodes) +
			" call paths. The weight of the others is that of their callers.");
	return finishTree(tree);
}

/* A tree of stacks of frames, each with a weight. */
function makeTree(id, unit, title, stacks) {
	const tree = {id, unit, title, weight: 0, roots: [], nodes: []}, known = new Map();
	for (const [frames, weight] of stacks) {
		let parent = null, path = "";
		const names = frames && frames.length ? frames.map(frameText).reverse() : ["(unknown)"];
		tree.weight += weight;
		names.forEach((name, i) => {
			path += "\0" + name;
			let node = known.get(path);
			if (!node) {
				node = {parent, name, total: 0, self: 0, count: 0, children: []};
				known.set(path, node);
				tree.nodes.push(node);
			}
			node.total += weight;
			node.count++;
			if (i + 1 === names.length)
				node.self += weight;
			parent = node;
		});
	}
	return finishTree(tree);
}

function readTrees() {
	const titles = {calls: "Time in calls", events: "Events by stack"};
	const trees = chart.trees.map((data) => readTree(data, titles[data.id]));
	const leaks = linesOf("leak"), waits = [];
	if (leaks.some((leak) => leak.bytes))
		trees.push(makeTree("leaks", "bytes", "Bytes not freed", leaks.map((leak) => [leak.stack, Number(leak.bytes)])));
	for (const lock of linesOf("lock"))
		for (const stack of lock.stacks)
			waits.push([stack.waiter, Number(stack.total_ns)]);
	if (waits.some(([, weight]) => weight))
		trees.push(makeTree("waits", "ns", "Time waited for locks", waits));
	return trees.filter((tree) => tree.nodes.length);
}

function addTrees() {
	const trees = readTrees();
	if (!trees.length)
		return;
	const part = section("flame", "Flame graph", "Each box is a function. The width of a box is the share of the function. The boxes below are the functions that it called. " +
		"Choose a box to enlarge it.");
	const choice = make("select", {id: "flame-source", onchange: () => show(trees[choice.selectedIndex])},
		...trees.map((tree) => make("option", {value: tree.id}, tree.title)));
	const lostReturns = make("p", {class: "alert", id: "flame-lost"}, "Returns of functions were lost. Below a function without a return, the graph can show functions that it did not call.");
	part.append(lostReturns);
	const flame = makeFlame(part, choice);
	const below = section("tree", "Call tree", "The same functions as a table, with their own share and the share of the functions that they called.");
	const table = makeTreeTable(below);

	function show(tree) {
		lostReturns.hidden = tree.id !== "calls" || !linesOf("function").some((line) => line.lost_return);
		flame.show(tree);
		table.show(tree);
	}
	show(trees[0]);
	redraws.push(flame.draw);
}

const boxHeight = 21;

function makeFlame(part, choice) {
	const status = make("p", {class: "status", role: "status", id: "flame-status"});
	const matches = make("span", {class: "status", role: "status", id: "flame-matches"});
	const search = make("input", {type: "search", id: "flame-search", autocomplete: "off", spellcheck: "false", oninput: () => { find(); draw(); }});
	const reset = make("button", {type: "button", id: "flame-reset", onclick: () => { zoomTo(null); }}, "Whole graph");
	const svg = d3.select(document.createElementNS("http://www.w3.org/2000/svg", "svg")).attr("id", "flame-graph").attr("role", "tree").attr("tabindex", -1);
	let tree = null, focus = null, current = null, text = "";

	part.append(make("div", {class: "tools"},
		make("div", null, make("label", {for: "flame-source"}, "Show"), choice),
		make("div", {class: "grow"}, make("label", {for: "flame-search"}, "Search functions"), search), reset), matches, svg.node(), status,
		make("p", {class: "explain keys"}, "Keys: ↑ ↓ ← → go to another function, Enter enlarges it, Escape shows the whole graph."));

	/* The share of each node, from 0 to 1, in the whole graph. */
	function place() {
		const sum = d3.sum(tree.roots, (node) => node.total) || 1;
		const lay = (nodes, left, scale) => {
			for (const node of nodes) {
				node.left = left;
				node.wide = node.total * scale;
				left += node.wide;
			}
		};
		lay(tree.roots, 0, 1 / sum);
		/* A parent precedes its children. Recorded times of callees can exceed the time of their caller. */
		for (const node of tree.nodes)
			if (node.children.length)
				lay(node.children, node.left, node.wide / Math.max(node.total, d3.sum(node.children, (child) => child.total), 1));
	}

	function find() {
		const words = search.value.trim().toLowerCase();
		let weight = 0, functions = new Set();
		text = words;
		for (const node of tree.nodes) {
			node.match = words !== "" && node.name.toLowerCase().includes(words);
			node.inMatch = node.match || (node.parent !== null && node.parent.inMatch);
			if (node.match) {
				functions.add(node.name);
				/* Nested matches count once. */
				if (!node.parent || !node.parent.inMatch)
					weight += node.total;
			}
		}
		matches.textContent = words ? plural(functions.size, "function matches", "functions match") + ", " + formatShare(weight, tree.weight) + " of the total" : "";
	}

	const describe = (node) => node.name + ": " + formatUnit[tree.unit](node.total) + ", " + formatShare(node.total, tree.weight) +
		(node.self && node.self !== node.total ? "; itself " + formatUnit[tree.unit](node.self) : "") +
		(tree.id === "calls" ? "; " + plural(node.count, "call") : "");

	function zoomTo(node) {
		focus = node;
		current = node || tree.roots[0];
		draw();
		status.textContent = node ? describe(node) : "The whole graph: " + formatUnit[tree.unit](tree.weight);
	}

	function isOuter(node) {
		for (let above = focus; above; above = above.parent)
			if (above === node)
				return true;
		return false;
	}

	function draw() {
		const space = chartWidth(svg.node()), left = focus ? focus.left : 0, scale = space / (focus ? focus.wide || 1 : 1);
		const boxes = [];
		let depth = 0;
		for (const node of tree.nodes) {
			const x = (node.left - left) * scale, wide = node.wide * scale, outer = focus && node !== focus && isOuter(node);
			if (!outer && (wide < 0.6 || x + wide < 0.01 || x > space - 0.01))
				continue;
			boxes.push({node, outer, x: Math.max(0, x), wide: Math.min(space, x + wide) - Math.max(0, x)});
			depth = Math.max(depth, node.depth);
		}
		boxes.sort((one, other) => other.wide - one.wide);
		boxes.length = Math.min(boxes.length, 4000);
		if (!boxes.some((box) => box.node === current))
			current = focus || tree.roots[0];
		const had = svg.node().contains(document.activeElement);
		svg.attr("viewBox", "0 0 " + space + " " + ((depth + 1) * boxHeight + 2)).attr("aria-label", "Flame graph: " + tree.title);
		svg.selectAll("*").remove();
		const groups = svg.selectAll("g").data(boxes).enter().append("g")
			.attr("class", (box) => "box" + (box.node.match ? " match" : "") + (box.outer ? " outer" : ""))
			.attr("role", "treeitem").attr("tabindex", (box) => box.node === current ? 0 : -1)
			.attr("aria-level", (box) => box.node.depth + 1).attr("aria-label", (box) => describe(box.node))
			.attr("transform", (box) => "translate(" + box.x.toFixed(2) + "," + (box.node.depth * boxHeight + 1) + ")")
			.on("click", (box) => { zoomTo(box.node); focusCurrent(); })
			.on("mouseenter focus", (box) => { status.textContent = describe(box.node); })
			.each(function (box) { box.node.element = this; });
		groups.append("rect").attr("width", (box) => Math.max(0.5, box.wide - 0.5).toFixed(2)).attr("height", boxHeight - 1.5).attr("rx", 2)
			.attr("class", (box) => fillOf(box.node.name));
		groups.filter((box) => box.wide > 28).append("text").attr("aria-hidden", "true").attr("x", 4).attr("y", 14).text((box) => fitText(box.node.name, box.wide));
		groups.append("title").text((box) => describe(box.node));
		if (had)
			focusCurrent();
	}

	function focusCurrent() {
		const element = current && current.element;
		if (!element || !element.isConnected)
			return;
		svg.selectAll("g").attr("tabindex", -1);
		element.setAttribute("tabindex", "0");
		element.focus({preventScroll: false});
	}

	function go(node) {
		if (!node || !node.element || !node.element.isConnected)
			return;
		current = node;
		focusCurrent();
	}
	function sibling(step) {
		const all = current.parent ? current.parent.children : tree.roots;
		return all[all.indexOf(current) + step];
	}
	svg.on("keydown", () => {
		const actions = {ArrowDown: () => go(current.children[0]), ArrowUp: () => go(current.parent), ArrowLeft: () => go(sibling(-1)), ArrowRight: () => go(sibling(1)),
			Enter: () => { zoomTo(current); focusCurrent(); }, " ": () => { zoomTo(current); focusCurrent(); }, Escape: () => { zoomTo(null); focusCurrent(); },
			Home: () => go(tree.roots[0])};
		const action = actions[d3.event.key];
		if (!action || d3.event.ctrlKey || d3.event.altKey || d3.event.metaKey)
			return;
		d3.event.preventDefault();
		action();
	});
	/* The focus can come from the mouse. */
	svg.on("focusin", () => {
		const box = d3.select(d3.event.target).datum();
		if (box && box.node)
			current = box.node;
	});
	return {draw, show: (other) => { tree = other; focus = null; current = tree.roots[0]; place(); find(); draw(); zoomTo(null); }};
}

/* ---- call tree ---- */

function makeTreeTable(part) {
	const body = make("tbody"), head = make("thead");
	const table = make("table", {id: "tree-table", role: "treegrid", "aria-label": "Call tree"}, head, body);
	let tree = null;

	part.append(make("div", {class: "scroll"}, table),
		make("p", {class: "explain keys"}, "Keys: ↑ ↓ choose a function, → opens and ← closes it."));

	function makeRow(node, position, count) {
		const twist = make("span", {class: "twist", "aria-hidden": "true"});
		const bar = make("span", {class: "bar", "aria-hidden": "true"}), name = make("td", {class: "name", role: "gridcell"}, twist, node.name);
		const number = (value, text) => { const cell = make("td", {class: "number", role: "gridcell"}, text); cell.dataset.value = String(value); return cell; };
		const format = formatUnit[tree.unit];
		name.style.setProperty("--depth", Math.min(node.depth, 12));
		bar.style.width = Math.max(0.5, 100 * node.total / (tree.weight || 1)) + "%";
		node.row = make("tr", {role: "row", tabindex: "-1", "aria-level": node.depth + 1, "aria-posinset": position, "aria-setsize": count}, name,
			number(node.total, format(node.total)), number(node.self, format(node.self)),
			tree.id === "calls" ? number(node.count, formatCount(node.count)) : null,
			make("td", {class: "number", role: "gridcell"}, formatShare(node.total, tree.weight)), make("td", {class: "track", role: "gridcell"}, bar));
		node.row.addEventListener("click", () => { toggle(node); select(node); });
		node.row.node = node;
		paint(node);
		return node.row;
	}
	function paint(node) {
		if (node.children.length)
			node.row.setAttribute("aria-expanded", String(Boolean(node.open)));
		node.row.querySelector(".twist").textContent = node.children.length ? (node.open ? "▾" : "▸") : "";
	}
	const childrenShown = 200;
	function open(node) {
		if (node.open || !node.children.length)
			return;
		const shown = node.children.slice(0, childrenShown);
		node.open = true;
		node.row.after(...shown.map((child, i) => makeRow(child, i + 1, node.children.length)));
		paint(node);
	}
	function close(node) {
		const pending = node.children.slice();
		for (let child = pending.pop(); child; child = pending.pop()) {
			if (child.row)
				child.row.remove();
			child.open = false;
			pending.push(...child.children.filter((inner) => inner.row && inner.row.isConnected));
		}
		node.open = false;
		paint(node);
	}
	const toggle = (node) => node.open ? close(node) : open(node);
	function select(node) {
		body.querySelectorAll("tr[tabindex='0']").forEach((row) => row.setAttribute("tabindex", "-1"));
		node.row.setAttribute("tabindex", "0");
		node.row.focus();
	}
	body.addEventListener("keydown", (event) => {
		const row = event.target.closest("tr"), node = row && row.node;
		const beside = (other) => other && select(other.node);
		if (!node || event.ctrlKey || event.altKey || event.metaKey)
			return;
		const actions = {ArrowDown: () => beside(row.nextElementSibling), ArrowUp: () => beside(row.previousElementSibling),
			ArrowRight: () => node.open ? beside(row.nextElementSibling) : open(node),
			ArrowLeft: () => node.open ? close(node) : node.parent && select(node.parent), Enter: () => toggle(node), " ": () => toggle(node),
			Home: () => beside(body.firstElementChild), End: () => beside(body.lastElementChild)};
		if (!actions[event.key])
			return;
		event.preventDefault();
		actions[event.key]();
	});
	return {show: (other) => {
		tree = other;
		tree.nodes.forEach((node) => { node.open = false; node.row = null; });
		head.replaceChildren(make("tr", {role: "row"}, ...["Function", "Total", "Itself", ...(tree.id === "calls" ? ["Calls"] : []), "Share", ""].map((title, i) =>
			make("th", {scope: "col", role: "columnheader", class: i && title ? "number" : null}, title || make("span", {class: "unseen"}, "Bar")))));
		body.replaceChildren(...tree.roots.slice(0, childrenShown).map((node, i) => makeRow(node, i + 1, tree.roots.length)));
		/* Open the heaviest path at the beginning. */
		for (let node = tree.roots[0], i = 0; node && i < 6 && node.total > tree.weight / 4; node = node.children[0], i++)
			open(node);
		if (tree.roots[0])
			tree.roots[0].row.setAttribute("tabindex", "0");
	}};
}

/* ---- distributions ---- */

const powerText = (power) => power < 10 ? String(2 ** power) : power % 10 ? 2 ** (power % 10) + " KMGTPE"[Math.floor(power / 10)] : "1" + " KMGTPE"[power / 10];

function readDistributions() {
	const all = [], functions = new Map(linesOf("function").map((line) => [line.function, line]));
	const texts = (line, suffix, format) => ["min", "mean", "p50", "p90", "p99", "p99_9", "max"]
		.filter((name) => line[name + suffix] !== undefined).map((name) => [name.replace("_", "."), format(line[name + suffix])]);
	for (const [name, ...pairs] of chart.buckets) {
		const buckets = [], line = functions.get(name) || {};
		for (let i = 0; i < pairs.length; i += 2)
			buckets.push({begin: pairs[i] ? 2 ** (pairs[i] - 1) : 0, end: 2 ** pairs[i], count: pairs[i + 1]});
		all.push({title: "Duration of " + name, unit: "ns", buckets, texts: texts(line, "_ns", formatDuration)});
	}
	for (const line of linesOf("durations"))
		all.push({title: "From " + line.begin + " to " + line.end + (line.by !== undefined ? ", " + byText(line) : ""), unit: "ns", buckets: line.buckets,
			texts: texts(line, "_ns", formatDuration)});
	for (const line of linesOf("histogram"))
		all.push({title: line.value + (line.by !== undefined ? ", " + byText(line) : ""), unit: "", buckets: line.buckets, texts: texts(line, "", formatCount)});
	return all.filter((one) => one.buckets.length);
}

function addDistributions() {
	const all = readDistributions();
	if (!all.length)
		return;
	const part = section("distributions", "Distributions", "The number of values in each range. A range does not include its end.");
	const choice = make("select", {id: "distribution-source", onchange: () => show(all[choice.selectedIndex])}, ...all.map((one) => make("option", null, one.title)));
	const texts = make("dl", {class: "cards"}), body = make("tbody");

	part.append(make("div", {class: "tools"}, make("div", {class: "grow"}, make("label", {for: "distribution-source"}, "Show"), choice)), texts,
		make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Distribution, table"}, make("table", {id: "table-distribution"},
			make("caption", {class: "unseen"}, "Distribution"), make("thead", null, make("tr", null, make("th", {scope: "col", class: "number"}, "From"),
				make("th", {scope: "col", class: "number"}, "To"), make("th", {scope: "col", class: "number"}, "Count"),
				make("th", {scope: "col"}, make("span", {class: "unseen"}, "Bar")))), body)));

	function show(one) {
		const most = d3.max(one.buckets, (bucket) => Number(bucket.count));
		const format = one.unit === "ns" ? formatDuration : formatCount;
		texts.replaceChildren(...one.texts.map(([name, value]) => make("div", null, make("dt", null, name), make("dd", null, value))));
		body.replaceChildren(...one.buckets.map((bucket) => {
			const bar = make("span", {class: "bar", "aria-hidden": "true"}), count = make("td", {class: "number"}, formatCount(bucket.count));
			bar.style.width = Math.max(0.5, 100 * Number(bucket.count) / most) + "%";
			count.dataset.value = String(bucket.count);
			return make("tr", null, make("td", {class: "number"}, bucket.begin === undefined ? "less" : format(bucket.begin)),
				make("td", {class: "number"}, bucket.end === undefined ? "more" : format(bucket.end)), count, make("td", {class: "track"}, bar));
		}));
	}
	show(all[0]);
}

/* ---- tables of the report ---- */

function addFunctions() {
	const rows = linesOf("function");
	if (!rows.length)
		return;
	const most = d3.max(rows, (row) => Number(row.self_ns || 0));
	const part = section("functions", "Functions", "All calls. “Itself” is the time without the calls that a function made.");
	const columns = [nameColumn("Function", (row) => row.function), numberColumn("Calls", (row) => row.calls), numberColumn("Total", (row) => row.total_ns, formatDuration),
		numberColumn("Itself", (row) => row.self_ns, formatDuration), shareColumn("", (row) => row.self_ns || 0, most),
		numberColumn("Mean", (row) => row.mean_ns, formatDuration), numberColumn("p99", (row) => row.p99_ns, formatDuration), numberColumn("Longest", (row) => row.max_ns, formatDuration)];
	if (rows.some((row) => row.errors))
		columns.push(numberColumn("Errors", (row) => row.errors));
	if (rows.some((row) => row.off_cpu_ns !== undefined))
		columns.push(numberColumn("Off CPU", (row) => row.off_cpu_ns, formatDuration));
	if (rows.some((row) => row.unfinished || row.lost_return))
		columns.push(numberColumn("No return", (row) => (row.unfinished || 0) + (row.lost_return || 0)));
	addTable(part, "table-function", "Functions", columns, rows);
}

function addEvents() {
	const rows = linesOf("count"), hasBy = rows.some((row) => row.by !== undefined);
	const part = section("events", "Events");
	if (!rows.length) {
		part.append(make("p", null, "No event was selected."));
		return;
	}
	const most = d3.max(rows, (row) => Number(row.count));
	addTable(part, "table-count", "Events", [nameColumn("Event", (row) => row.event), ...(hasBy ? [nameColumn("By", byText)] : []),
		numberColumn("Count", (row) => row.count), numberColumn("Per second", (row) => row.rate, formatRate), shareColumn("", (row) => row.count, most)], rows);
}

function addProcesses() {
	const rows = linesOf("process");
	if (!rows.length)
		return;
	addTable(section("processes", "Processes"), "table-process", "Processes", [nameColumn("Process", processText),
		...(rows.some((row) => row.hostname) ? [{title: "Host", value: (row) => row.hostname || ""}] : []), numberColumn("Events", (row) => row.events),
		numberColumn("Per second", (row) => row.rate, formatRate), numberColumn("Lost", (row) => row.lost)], rows);
}

function addCallers() {
	const rows = linesOf("caller");
	if (!rows.length)
		return;
	addTable(section("callers", "Callers", "The code locations from which most events came."), "table-caller", "Callers", [nameColumn("Function", frameText),
		{title: "Location", value: (row) => row.file ? row.file.replace(/.*\//, "") + ":" + row.line : row.module ? row.module.replace(/.*\//, "") : ""},
		{title: "Process", value: processText}, numberColumn("Events", (row) => row.count)], rows);
}

function addPairs() {
	const rows = linesOf("slow");
	if (!rows.length)
		return;
	addTable(section("slow", "Slowest"), "table-slow", "Slowest pairs of events", [nameColumn("From", (row) => row.begin), nameColumn("To", (row) => row.end),
		numberColumn("Duration", (row) => row.duration_ns, formatDuration), {title: "Process", value: processText}, numberColumn("Thread", (row) => row.thread, String),
		{title: "Began", value: (row) => row.begin_time}], rows);
}

/* ---- locks and leaks ---- */

const lockName = (lock) => lock.name ? lock.name + (lock.name_offset ? "+0x" + lock.name_offset.toString(16) : "")
	: lock.address !== undefined ? "0x" + BigInt(lock.address).toString(16) : plural(lock.locks || 0, "lock");

function addDeadlocks(part) {
	for (const deadlock of linesOf("deadlock")) {
		const list = make("ul");
		for (const edge of deadlock.threads)
			list.append(make("li", null, "Thread " + (edge.thread_name || edge.thread) + " waits in " + edge.call + " for " + edge.kind + " " + lockName(edge) +
				", which thread " + (edge.holder_name || edge.holder) + " holds. ", makeStack("waits", edge.waiter_stack), " ", makeStack("held since", edge.holder_stack)));
		part.append(make("div", {class: "alert"}, make("strong", null, "Deadlock in " + processText(deadlock)), list));
	}
}

/* The stacks of waiting threads, each with the stack of the thread that held the lock or woke them. */
function addWaits(part, locks) {
	const rows = locks.flatMap((lock) => lock.stacks.map((stack) => ({lock, stack}))).filter((row) => row.stack.waiter)
		.sort((left, right) => compareValues(right.stack.total_ns, left.stack.total_ns));
	if (!rows.length)
		return;
	part.append(make("h3", null, "Waits by stack"));
	addTable(part, "table-wait", "Waits by stack", [nameColumn("Lock", (row) => lockName(row.lock)), numberColumn("Waits", (row) => row.stack.count),
		numberColumn("Waited", (row) => row.stack.total_ns, formatDuration), numberColumn("Longest", (row) => row.stack.max_ns, formatDuration),
		{title: "Waited in", value: (row) => row.stack.waiter.map(frameText).join(" "), show: (row) => makeStack("", row.stack.waiter)},
		{title: "Held or woken by", value: (row) => (row.stack.holder || row.stack.waker || []).map(frameText).join(" "),
			show: (row) => makeStack("", row.stack.holder || row.stack.waker)}], rows);
}

function addLocks() {
	const summary = linesOf("locks")[0], rows = linesOf("lock");
	if (!summary)
		return;
	const part = section("locks", "Locks", "Locks by the time that threads waited for them.");
	addDeadlocks(part);
	if (summary.lost || summary.lost_packets)
		part.append(make("p", {class: "alert"}, "Events were lost. Durations during which events were lost are not counted."));
	addTable(part, "table-lock", "Locks", [nameColumn("Lock", lockName), {title: "Kind", value: (row) => row.kind}, {title: "Process", value: processText},
		numberColumn("Waited", (row) => row.waited_ns, formatDuration), numberColumn("Contended", (row) => row.contended), numberColumn("Attempts", (row) => row.attempts),
		numberColumn("Wait p99", (row) => row.wait.p99_ns, formatDuration), numberColumn("Longest wait", (row) => row.wait.max_ns, formatDuration),
		numberColumn("Hold p99", (row) => row.hold && row.hold.p99_ns, formatDuration)], rows,
		Math.max(8, Math.min(rowsShown, rows.filter((row) => row.contended).length)));
	addWaits(part, rows);
}

function addLeaks() {
	const summary = linesOf("leaks")[0], rows = linesOf("leak");
	if (!summary)
		return;
	const part = section("leaks", "Memory that was not freed", "Blocks that were allocated and not freed when the recording ended, by the stack that allocated them.");
	part.append(make("p", {id: "leaks-sentence"}, plural(summary.blocks, "block") + " with " + formatBytes(summary.bytes) + " of " + plural(summary.allocations, "allocation") +
		" with " + formatBytes(summary.allocated_bytes) + ". At most " + formatBytes(summary.peak_bytes) + " were allocated at one time."));
	if (!summary.exact)
		part.append(make("p", {class: "alert"}, "Some allocations or frees are not in the trace. Blocks can be listed although they were freed."));
	if (summary.double_frees)
		part.append(make("p", {class: "alert"}, plural(summary.double_frees, "free") + " of a block that was already free."));
	addTable(part, "table-leak", "Blocks by stack", [numberColumn("Bytes", (row) => row.bytes), numberColumn("Blocks", (row) => row.blocks),
		{title: "Share", value: (row) => Number(row.bytes), kind: "number", format: (bytes) => formatShare(bytes, summary.bytes)},
		{title: "Process", value: (row) => row.shared ? "several" : processText(row)},
		{title: "Allocated by", value: (row) => (row.stack || []).map(frameText).join(" "), kind: "name", show: (row) => makeStack("", row.stack)}], rows);
	const frees = linesOf("double_free");
	if (frees.length) {
		part.append(make("h3", null, "Freed twice"));
		addTable(part, "table-double", "Blocks that were freed twice", [numberColumn("Count", (row) => row.count), {title: "Process", value: processText},
			{title: "Freed again by", value: () => "", show: (row) => makeStack("", row.stack)}, {title: "Freed first by", value: () => "", show: (row) => makeStack("", row.freed_by)}], frees);
	}
}

function addLosses() {
	const rows = [...linesOf("lost"), ...linesOf("lost_packets")];
	if (!rows.length)
		return;
	addTable(section("losses", "Losses", "Events that were not recorded, by ring and reason. The timeline marks when they were lost."), "table-lost", "Losses",
		[{title: "Process", value: processText}, nameColumn("Ring", (row) => row.ring), nameColumn("Event", (row) => row.event || ""),
			{title: "Reason", value: (row) => row.reason || ""}, numberColumn(rows.some((row) => row.in_bytes) ? "Events or bytes" : "Count", (row) => row.count)], rows);
}

function addNotes() {
	const names = {count: "events", process: "processes", function: "functions", caller: "callers", slow: "slowest pairs", histogram: "histograms", durations: "distributions of pairs",
		lost: "losses", lock: "locks", leak: "leaks", leaks_process: "processes with allocations"};
	for (const line of linesOf("omitted"))
		note("The page leaves out " + plural(line.count, "row") + " of the table of " + (names[line.of] || line.of) + ". `side report --json` prints all rows.");
	if (chart.restricted)
		note("The report covers a part of the trace. Tables of locks and memory need all events, so they are left out.");
	if (chart.refused_stacks)
		note(plural(chart.refused_stacks, "event") + " with a stack beyond the limit are counted as (unknown).");
	if (!notes.length)
		return;
	section("limits", "What was aggregated", "A page has at most 5 MB for any trace. The trace itself has all events.")
		.append(make("ul", null, ...notes.map((text) => make("li", null, text))));
}

/* ---- the page ---- */

const redraws = [];

addSummary();
addTimeline();
addTrees();
addFunctions();
addDistributions();
addLocks();
addLeaks();
addEvents();
addProcesses();
addCallers();
addPairs();
addLosses();
addNotes();
document.getElementById("made").textContent = "Made by side " + chart.version + ". The page is one file and loads nothing from a network.";

let drawnWidth = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
	if (document.documentElement.clientWidth === drawnWidth)
		return;
	drawnWidth = document.documentElement.clientWidth;
	redraws.forEach((draw) => draw());
});
document.documentElement.dataset.ready = "true";
}());
