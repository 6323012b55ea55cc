# The parts of docs/benchmarks.md and docs/distributed.md, from the rows of weir-bench: jq -r --arg part NAME -f bench-page.jq all.json

def fixed($digits):
  (. < 0) as $negative
  | (fabs * pow(10; $digits) | round | tostring) as $all
  | ("0" * ($digits + 1 - ($all | length)) // "") + $all
  | (if $negative then "-" else "" end) + .[:length - $digits] + (if $digits > 0 then "." + .[length - $digits:] else "" end);

# Three digits or so; thousands and millions of what is large.
def short:
  if . == null then "" else
    (fabs) as $up
    | (if $up >= 1e9 then [1e9, " G"] elif $up >= 1e6 then [1e6, " M"] elif $up >= 1e5 then [1e3, " k"] else [1, ""] end)
      as [$by, $unit]
    | (. / $by) as $value
    | ($value | fabs) as $size
    | "\($value | fixed(if $size >= 100 then 0 elif $size >= 10 then 1 else 2 end))\($unit)"
  end;

# A measure with its quartiles.
def spread:
  if . == null then "" elif .rounds > 1 then "\(.median | short) (\(.low | short)–\(.high | short))"
  else .median | short end;

# Whole numbers as they are: they are parameters.
def cell:
  if . == null then "" elif type != "number" then tostring elif . >= 1e6 then "\(. / 1e6) M"
  elif . == floor then tostring else short end;
def line: "| " + join(" | ") + " |";

# A table: `columns` are objects {head, get}, where get is done by `value`.
def table($heads; rows; values):
  ($heads | line), ($heads | map("---") | line), (rows | [values] | map(cell) | line);

def ns: .measures.ns // .measures.p50;
def percent: if . == null then "" else "\(. * 100 | round) %" end;
def scenario($name): .rows[] | select(.scenario == $name);

def machine:
  .machine
  | "| | |", "| --- | --- |",
    (["processor", "\(.cpu), \(.cores) cores, \(.arch)"], ["kernel", "\(.kernel), clock source \(.clocksource), transparent huge pages: \(.huge_pages)"],
     ["compiler", "\(.compiler), \(.flags) (\(.buildtype))"], ["weir", "\(.version), commit \(.commit)"],
     ["measured", "\(.time), load of the machine before: \(.load | short)"],
     ["timer", "\(.timer_ns | fixed(1)) ns are in every percentile"] | line);

def targets:
  table(["case", "against", "measured", "target", ""];
    scenario("targets") | select(.note);
    "\(.algorithm), \(.parameters.case)",
    .parameters.against,
    (.measures.ratio // .measures.measured | spread) + (if .measures["by cpu time"] then "; by processor time \(.measures["by cpu time"].median | short)" else "" end),
    (if .measures["at most"] then "≤ \(.measures["at most"].median | short)" else "≥ \(.measures["at least"].median | short)" end)
      + (.measures.measured.unit // "" | if . == "" then "" else " \(.)" end),
    .note);

def beside:
  table(["case", "against", "key bytes", "answer", "ratio", "ns", "the other's"];
    scenario("targets") | select(.note == null);
    "\(.algorithm), \(.parameters.case)", .parameters.against, .parameters["key bytes"], .parameters.answer,
    (.measures.ratio | spread), (.measures["its own"] | spread), (.measures["the other's"] | spread));

# Rows that differ in their subject alone as one line: what `key` tells of them, then `value` of each subject.
def pivot($heads; rows; key; value):
  [rows | {key: [key], subject, value: value}] as $all
  | ($all | reduce .[].subject as $s ([]; if index([$s]) then . else . + [$s] end)) as $subjects
  | ($all | reduce .[].key as $k ([]; if any(.[]; . == $k) then . else . + [$k] end)) as $keys
  | ($heads + $subjects | line), ($heads + $subjects | map("---") | line),
    ($keys[] as $k | $k + [$subjects[] as $s | [$all[] | select(.key == $k and .subject == $s) | .value][0]] | map(cell) | line);

def what: "\(.algorithm)\(if (.parameters.costs // "1") == "1" then "" else ", token costs" end), \(.parameters.calls)";

def hot: pivot(["calls", "threads"]; scenario("hot-key"); what, .parameters.threads; ns | spread);

def gains:
  pivot(["calls", "threads"]; scenario("hot-key") | select(.measures.gain); what, .parameters.threads;
    "\(.measures.gain.median | short) (\(.measures["least share"].median | percent))");

def many:
  pivot(["calls", "keys", "picked"]; scenario("many-keys"); what, .parameters.keys,
    .parameters.picked + (.parameters["walk KiB"] | if . then ", walk" else "" end); ns | spread);

def batches: pivot(["keys", "batch"]; scenario("batch"); .parameters.keys, .parameters.batch; ns | spread);

def crowded:
  pivot(["calls", "keys", "threads"]; scenario("oversubscribed"); what, .parameters.keys, .parameters.threads;
    "\(.measures.p50.median | short) / \(.measures.p99.median | short) / \(.measures["p99.9"].median | short) / \(.measures["p99.99"].median | short)");

def ruled: pivot(["kind", "rules"]; scenario("rules"); what, .parameters.rules; ns | spread);

# --- docs/distributed.md ---

def subject: if .algorithm == "-" then .subject else "\(.algorithm), \(.parameters.calls)" end;
def micro: if . == null then "" else "\(. / 1000 | short) µs" end;
def rate: .measures.rate.median | short;

def redis_decisions:
  table(["over", "threads", "asked", "p50 beside the empty script's", "time beside it", "a second", "p50", "p99"];
    .rows[] | select(.scenario == "decision" or .scenario == "over TCP");
    .parameters.over, .parameters.threads, subject, (.measures["p50 ratio"] | spread), (.measures.ratio | spread), rate,
    (.measures.p50.median | micro), (.measures.p99.median | micro));

def redis_benchmark:
  table(["over", "empty scripts a second, one client, by redis-benchmark"]; scenario("redis-benchmark");
    .parameters.over, rate);

def redis_batches:
  table(["decisions in a batch", "time of a decision beside one alone", "decisions a second", "round trips a decision"];
    scenario("batch over Redis"); .parameters.batch, (.measures.ratio | spread), rate, (.measures["round trips"].median | fixed(3)));

def redis_loops:
  table(["threads", "asked by", "calls under way in each", "time beside the blocking client's", "decisions a second", "p50", "p99"];
    scenario("event loop"); .parameters.threads, .subject, .parameters["in flight"], (.measures.ratio | spread), rate,
    (.measures.p50.median | micro), (.measures.p99.median | micro));

def redis_hammering:
  table(["refusals remembered", "decisions a second", "round trips a decision", "p50", "p99"];
    scenario("hammering");
    .parameters["refusals remembered"], rate, (.measures["round trips"].median | fixed(6)), (.measures.p50.median | micro),
    (.measures.p99.median | micro));

# What no table above is made for: all parameters, all measures.
def any($name):
  [scenario($name)] as $rows
  | if $rows == [] then "Nothing was measured." else .
  | ($rows | map(.parameters | keys_unsorted) | add | unique) as $parameters
  | ($rows | map(.measures | keys_unsorted) | add | reduce .[] as $m ([]; if index([$m]) then . else . + [$m] end)) as $measures
  | table(["algorithm", "subject"] + $parameters + $measures; $rows[];
      .algorithm, .subject, (.parameters[$parameters[]]), (.measures[$measures[]] | spread))
  end;

if $part == "machine" then machine
elif $part == "targets" then targets
elif $part == "beside" then beside
elif $part == "hot-key" then hot
elif $part == "many-keys" then many
elif $part == "gains" then gains
elif $part == "batch" then batches
elif $part == "oversubscribed" then crowded
elif $part == "rules" then ruled
elif $part == "redis-decisions" then redis_decisions
elif $part == "redis-benchmark" then redis_benchmark
elif $part == "redis-batches" then redis_batches
elif $part == "redis-loops" then redis_loops
elif $part == "redis-hammering" then redis_hammering
elif $part == "redis-machine" then machine
else any($part) end
