# Everything here is a short way to meson; the work is in scripts/. Build directories are under build/.

BUILD = build/release

all: $(BUILD)/build.ninja
	ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo 'meson is not installed: "make deps" installs what is needed' >&2; exit 1; }
	meson setup -Dtests=disabled $(BUILD)

# Installs the Debian packages that are missing, and nothing else.
deps:
	@scripts/deps.sh

# Replays the sample log: who would have been refused, under each algorithm? At 100 requests a minute a client, the
# three answer differently: the log is exact, the counter lets one burst through and refuses another that it should
# not, the buckets refuse a little early.
demo: deps
	@scripts/demo.sh

# All tests: two compilers, four sanitizer builds, valgrind, arm64. `scripts/test.sh gcc` is the quick one.
test: deps
	@scripts/test.sh

# The real code under a scheduler, further than the tests go: most of an hour.
schedule: deps
	@scripts/schedule.sh

# Everything at once, for as long as one likes: make torture SECONDS=600 SANITIZERS=thread
torture: deps
	@scripts/torture.sh $(or $(SECONDS),60) $(SANITIZERS)

# Fifty million spoofed keys, without and with max_keys: memory, speed, and what honest keys are answered meanwhile.
flood: deps
	@scripts/flood.sh

# Hunts with libFuzzer, so many seconds on each target: make fuzz SECONDS=600 TARGETS='calls csv'
fuzz: deps
	@WEIR_FUZZ_SECONDS=$(or $(SECONDS),60) scripts/fuzz.sh $(TARGETS)

# Breaks src on purpose, one break after the other, and shows that the tests see each; NAMES=... for some of them.
mutation: deps
	@scripts/mutation.sh $(NAMES)

# Measures for about six minutes, and writes the figures and pictures into docs/benchmarks.md and docs/distributed.md.
bench: deps
	@scripts/bench.sh

# Counts the shared lines that calls read and write, weir's and the baselines', and puts them into docs/cost-model.md.
counts: deps
	@scripts/counts.sh

# PREFIX=/usr (/usr/local where not given), DESTDIR=/some/where
install: all
	meson configure --prefix=$(or $(PREFIX),/usr/local) $(BUILD)
	DESTDIR=$(DESTDIR) meson install -C $(BUILD)
	$(if $(DESTDIR),,ldconfig)

clean:
	rm -rf build

.PHONY: all deps demo test schedule torture flood fuzz mutation bench counts install clean
