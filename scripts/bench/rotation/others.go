package main

import (
	"os"
	"path/filepath"
	"strings"
)

// The set-ups of the others. Where the manual of one has an option that makes it
// lose less, it is given: a position kept after every line, rotated files looked
// for by their pattern, no buffer in front of the output.

// file writes a configuration with the world's places in it.
func file(w *world, name, text string) string {
	path := filepath.Join(w.state(), name)
	text = strings.NewReplacer("LOGS", filepath.Join(w.dir, "*", "app.log*"), "LOG", w.log(), "OUT", w.out(),
		"STATE", w.state()).Replace(text)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		panic(err) // a fresh folder of ours
	}
	return path
}

func rsyslog(f *follower, w *world) []string {
	conf := file(w, "rsyslog.conf", `global(workDirectory="STATE" net.enableDNS="off")
module(load="imfile")
template(name="raw" type="string" string="%msg%\n")
ruleset(name="out") { action(type="omfile" file="OUT" template="raw") }
input(type="imfile" File="LOG" Tag="log" ruleset="out" persistStateInterval="1" reopenOnTruncate="on")
`)
	modules := "/usr/lib/x86_64-linux-gnu/rsyslog"
	return []string{f.program, "-n", "-f", conf, "-i", filepath.Join(w.state(), "pid"), "-M",
		f.beside(modules)}
}

func syslogNG(f *follower, w *world) []string {
	conf := file(w, "syslog-ng.conf", `@version: 3.38
options { flush-lines(1); stats-freq(0); };
source s_log { file("LOG" follow-freq(0.2) flags(no-parse)); };
destination d_out { file("OUT" template("${MESSAGE}\n")); };
log { source(s_log); destination(d_out); flags(flow-control); };
`)
	s := w.state()
	return []string{f.program, "-F", "--no-caps", "-f", conf, "-p", s + "/pid", "-c", s + "/ctl", "-R",
		s + "/persist",
		"--module-path=" + f.beside("/usr/lib/syslog-ng/3.38")}
}

func collector(f *follower, w *world) []string {
	conf := file(w, "otelcol.yaml", `receivers:
  filelog: {include: ["LOGS"], start_at: beginning, storage: file_storage, force_flush_period: 0}
exporters:
  file: {path: "OUT", append: true, flush_interval: 1ms}
extensions:
  file_storage: {directory: "STATE", fsync: true}
service:
  extensions: [file_storage]
  telemetry: {metrics: {level: none}}
  pipelines:
    logs: {receivers: [filelog], exporters: [file]}
`)
	return []string{f.program, "--config", conf}
}

// vector and fluentBit are written by their manuals: they could not be had where the
// table of tri(7) was made.
func vector(f *follower, w *world) []string {
	conf := file(w, "vector.yaml", `data_dir: STATE
sources:
  log: {type: file, include: ["LOGS"], read_from: beginning, glob_minimum_cooldown_ms: 200}
sinks:
  out: {type: file, inputs: [log], path: "OUT", encoding: {codec: text}}
`)
	return []string{f.program, "--quiet", "--config", conf}
}

func fluentBit(f *follower, w *world) []string {
	return []string{f.program, "-q", "-f", "1",
		"-i", "tail", "-p", "path=" + w.log(), "-p", "db=" + w.state() + "/db", "-p", "db.sync=full",
		"-p", "read_from_head=true", "-p", "refresh_interval=1", "-p", "rotate_wait=30",
		"-o", "file", "-m", "*", "-p", "path=" + w.dir, "-p", "file=out", "-p", "format=template", "-p",
		"template={log}"}
}
