# The few commands that matter. `make image` and `make test` work on a fresh Debian 12 or 13 with git, a C compiler,
# make and cargo; what else is missing is installed.

SHELL   := /bin/bash
HOST    := $(shell rustc -vV | sed -n 's/^host: //p')
FORGE   := target/release/dtnforge
AGENT   := target/$(HOST)/release/dtn-firstboot
OUT     ?= out
SPEC    ?= image-specs/dtn.toml
NAME     = $(basename $(notdir $(SPEC)))
SUDO    := $(shell [ "$$(id -u)" = 0 ] || echo sudo --preserve-env=DTNFORGE_CACHE,http_proxy,https_proxy,no_proxy)
# Where the VM rung keeps its images and logs.
export DTNFORGE_TEST_OUT ?= $(CURDIR)/target/vm
export DTNFORGE_BIN   := $(CURDIR)/$(FORGE)
export DTNFORGE_AGENT := $(CURDIR)/$(AGENT)

.PHONY: help image build deps lint docs test test-fast test-ns test-vm test-vm-all test-browser bench reproduce clean

help:                ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 16

# Package, and the program by which it is known to be there.
TOOLS := mmdebstrap:mmdebstrap rpm:rpm iproute2:ip ethtool:ethtool iperf3:iperf3 kmod:modprobe util-linux:unshare mount:mount

deps:                ## install what is missing (Debian packages)
	@missing=; for tool in $(TOOLS); do PATH=$$PATH:/usr/sbin:/sbin command -v $${tool#*:} >/dev/null || missing+=" $${tool%%:*}"; done; \
	if [ -n "$$missing" ]; then echo "installing:$$missing"; \
	  $(SUDO) apt-get update -q && $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends $$missing; fi

build:               ## both binaries, release; the agent is static
	cargo build --release --locked -p dtnforge
	RUSTFLAGS='-C target-feature=+crt-static' cargo build --release --locked -p dtn-firstboot --target $(HOST)
	cp $(AGENT) target/release/dtn-firstboot

image: deps build    ## the default image, booted in QEMU to a tuned and proved node (SPEC=, OUT=)
	$(SUDO) $(FORGE) build $(SPEC) --out $(OUT)/$(NAME) --agent $(AGENT)
	$(SUDO) tests/prove-in-qemu $(FORGE) $(OUT)/$(NAME)

lint:                ## formatting, clippy
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --features dtn-firstboot/failpoints -- -D warnings

docs:                ## the pages under docs/reference, from the code
	UPDATE_REFERENCE=1 cargo test --locked -q -p dtnforge --test reference

test: deps build     ## all three rungs
	tests/all-rungs

test-fast:           ## no root, seconds
	cargo test --workspace --locked

test-ns: deps        ## network namespaces, root, minutes
	tests/namespace-rung

test-vm: deps build  ## QEMU: the tests listed in tests/ci-vm.txt
	tests/vm-rung tests/ci-vm.txt

test-vm-all: deps build  ## QEMU: every VM test
	tests/vm-rung

test-browser:        ## the page of a report in Debian's chromium
	DTNFORGE_BROWSER=1 cargo test --locked -p dtnforge-profiles --test browser -- --nocapture --test-threads=1

bench: build         ## ours beside a peer, as ratios; how often the verdict is right
	cargo bench --locked -p dtnforge --bench ratios
	cargo bench --locked -p dtnforge-profiles --bench verdict

reproduce: deps build  ## build every artefact twice, from another place, and compare
	$(SUDO) tests/reproduce $(FORGE) $(AGENT) $(SPEC) $(CURDIR)/target/reproduce

clean:
	cargo clean
	$(SUDO) rm -rf $(OUT) target/reproduce
