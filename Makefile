# normd: `make run` and `make test` are the two commands; `make help` lists the rest.

VERSION := 0.1.0
DEPS    ?= 1
V       ?= 0

# --- the build folder: one per compiler and sanitizer ------------------------------------------------------------

ifeq ($(origin CC),default)
CC := gcc
endif
comma := ,
empty :=
variant := $(strip $(filter-out gcc,$(notdir $(CC))) $(subst $(comma),-,$(SAN)))
B := build$(if $(variant),/$(subst $(empty) $(empty),-,$(variant)))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wcast-qual \
        -Wwrite-strings -Wvla -Wundef -Wformat=2 -Wno-psabi
CFLAGS   ?= -O2 -g
OUR_C    := -std=gnu11 $(WARN) $(WERROR) -ffp-contract=off -fno-math-errno -fno-trapping-math \
            -fPIC -fvisibility=hidden -fno-semantic-interposition -pthread \
            $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
OUR_CPP  := -I. -D_GNU_SOURCE -DNORMD_VERSION='"$(VERSION)"' -MMD -MP
OUR_LD   := -pthread $(if $(SAN),-fsanitize=$(SAN))
LIBS     := -lsleef -lm
TEST_LIBS ?= -lcheck -lsubunit -lrt -lmpfr -lgmp -lcurl -lmicrohttpd

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@echo "  $(1)	$(2)")

# --- sources: a folder's files are its parts ---------------------------------------------------------------------

# Compiled once per instruction set, with -DKERNEL_ISA=name; everything else once, for the baseline.
ISA_SOURCES := $(wildcard core/kernels/kernels*.c api/json/kernels/*.c)
MACHINE     := $(shell $(CC) -dumpmachine 2>/dev/null | cut -d- -f1)
ISAS        := scalar $(if $(filter x86_64,$(MACHINE)),sse2 avx2 avx512) $(if $(filter aarch64,$(MACHINE)),neon)
ISA_FLAGS_scalar := -fno-tree-vectorize -fno-tree-slp-vectorize
ISA_FLAGS_sse2   := -msse2
ISA_FLAGS_avx2   := -mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mf16c -mpopcnt
ISA_FLAGS_avx512 := $(ISA_FLAGS_avx2) -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mavx512vbmi -mavx512vbmi2 -mavx512ifma \
                    -mprefer-vector-width=512
ISA_FLAGS_neon   :=

# Checked at every step, kernels take the compiler minutes at -O3.
ISA_OPT := $(if $(SAN),-O1,-O3)

isa_objects = $(foreach i,$(ISAS),$(patsubst %.c,$(B)/%.$(i).o,$(filter $(1)/%,$(ISA_SOURCES))))
CORE_O   := $(patsubst %.c,$(B)/%.o,$(wildcard core/*.c core/block/*.c core/diagnose/*.c)) $(call isa_objects,core)
API_O    := $(patsubst %.c,$(B)/%.o,$(wildcard api/*.c api/json/*.c)) $(call isa_objects,api)
SERVER_O := $(patsubst %.c,$(B)/%.o,$(filter-out server/main.c,$(wildcard server/*.c)))
SUPPORT_O := $(patsubst %.c,$(B)/%.o,$(wildcard tests/support/*.c tests/reference/*.c))
TESTS    := $(patsubst %.c,$(B)/%,$(wildcard tests/core/test_*.c tests/kernels/test_*.c tests/api/test_*.c tests/server/test_*.c tests/e2e/test_*.c))
TEST_SCRIPTS := $(wildcard tests/core/test_*.sh tests/kernels/test_*.sh tests/api/test_*.sh tests/server/test_*.sh tests/e2e/test_*.sh)

.PHONY: all
all: $(B)/normd ## build build/normd (plain make)

$(B)/libnormcore.a: $(CORE_O)
$(B)/libnormapi.a: $(API_O)
$(B)/libnormserver.a: $(SERVER_O)
$(B)/libsupport.a: $(SUPPORT_O)
$(B)/%.a:
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/normd: $(B)/server/main.o $(B)/libnormserver.a $(B)/libnormapi.a $(B)/libnormcore.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(OUR_LD) $(LDFLAGS) -o $@ $^ -lmicrohttpd -ljansson $(LIBS)

compile = $(CC) $(OUR_CPP) $(CPPFLAGS) $(OUR_C) $(CFLAGS) $(1) -c -o $@ $<

$(B)/%.o: %.c Makefile
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(call compile)

define isa_rule
$(B)/%.$(1).o: %.c Makefile
	$$(call say,CC,$$@)
	@mkdir -p $$(@D)
	$(Q)$$(call compile,$(ISA_OPT) $(ISA_FLAGS_$(1)) -DKERNEL_ISA=$(1) -DKERNEL_ISA_$(1)=1)
endef
$(foreach i,$(ISAS),$(eval $(call isa_rule,$(i))))

$(B)/api/openapi.o: api/openapi.json

$(B)/tests/%: $(B)/tests/%.o $(B)/libsupport.a $(B)/libnormserver.a $(B)/libnormapi.a $(B)/libnormcore.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(OUR_LD) $(LDFLAGS) -o $@ $^ $(TEST_LIBS) -ljansson $(LIBS)

include core/install/install.mk

.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)

# --- what a fresh Debian needs -----------------------------------------------------------------------------------

BUILD_PACKAGES := gcc libc6-dev libmicrohttpd-dev libjansson-dev libsleef-dev curl
TEST_PACKAGES  := $(BUILD_PACKAGES) check libsubunit-dev libmpfr-dev libcurl4-openssl-dev python3 pkgconf
LINT_PACKAGES  := $(TEST_PACKAGES) clang shellcheck git
NEON_PACKAGES  := gcc-aarch64-linux-gnu libc6-dev-arm64-cross libc6:arm64 qemu-user-static libsleef-dev:arm64 libmpfr-dev:arm64 \
                  check:arm64 libsubunit-dev:arm64 libjansson-dev:arm64
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# $(call install,packages): installs those that are missing, saying so first; nothing with DEPS=0.
define install
@if [ "$(DEPS)" != 0 ] && command -v dpkg-query >/dev/null; then \
	missing=; for p in $(1); do \
		dpkg-query -W -f '$${db:Status-Status}\n' $$p 2>/dev/null | grep -qx installed || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
		echo "installing from Debian:$$missing (DEPS=0 to be left alone)"; \
		$(SUDO) apt-get update -q && \
		$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -qy --no-install-recommends $$missing; \
	fi; fi
endef

# --- the two commands --------------------------------------------------------------------------------------------

.PHONY: run test
run: ## install what is missing, build, start the daemon on 127.0.0.1:8080
	$(call install,$(BUILD_PACKAGES))
	@$(MAKE) --no-print-directory all
	@exec $(B)/normd --banner

test: ## install what is missing, build and run every test
	$(call install,$(TEST_PACKAGES))
	@$(MAKE) --no-print-directory check

# ONLY="pool norm": the tests whose name holds one of these words.
chosen = $(if $(ONLY),$(foreach t,$(1),$(if $(strip $(foreach o,$(ONLY),$(findstring $(o),$(notdir $(t))))),$(t))),$(1))

.PHONY: check
check: $(B)/normd $(call chosen,$(TESTS)) $(if $(SAN),,$(INSTALLED)) ## run every test, without installing anything (SAN=address,undefined works)
	@NORMD=$(B)/normd BUILD=$(B) tests/run.sh $(call chosen,$(TESTS) $(TEST_SCRIPTS))

# --- what else must hold -----------------------------------------------------------------------------------------

.PHONY: lint headers sanitize test-thread test-neon test-bare test-all
lint: ## no warning from gcc or clang, headers that stand alone, layers, shell scripts
	$(call install,$(LINT_PACKAGES))
	@$(MAKE) --no-print-directory CC=gcc syntax && $(MAKE) --no-print-directory CC=clang syntax
	@$(MAKE) --no-print-directory all
	@$(MAKE) --no-print-directory headers
	@tests/layers.sh $(B)
	@shellcheck -S warning .ci/run $$(git ls-files '*.sh')
	@echo "lint: clean"

.PHONY: tests
tests: $(TESTS) $(EXTRA_TESTS)

# Every source read by the compiler with its warnings as errors, each kernel as each instruction set; nothing is built.
SYNTAX := $(addprefix syntax/,$(filter-out $(ISA_SOURCES) core/install/%,$(wildcard core/*.c core/*/*.c api/*.c api/json/*.c api/json/kernels/*.c server/*.c tests/*/*.c)) \
            $(foreach i,$(ISAS),$(ISA_SOURCES:.c=.$(i))))
.PHONY: syntax $(SYNTAX)
syntax: $(SYNTAX)
check_syntax = $(CC) $(filter-out -MMD -MP,$(OUR_CPP)) $(OUR_C) -Werror -fsyntax-only
$(filter syntax/%.c,$(SYNTAX)): syntax/%:
	$(Q)$(check_syntax) $*
$(foreach i,$(ISAS),$(eval $(ISA_SOURCES:%.c=syntax/%.$(i)): ; \
	$$(Q)$$(check_syntax) $(ISA_FLAGS_$(i)) -DKERNEL_ISA=$(i) -DKERNEL_ISA_$(i)=1 $$(patsubst syntax/%.$(i),%.c,$$@)))

headers: ## compile each header alone
	@for h in $$(git ls-files 'core/*.h' 'api/*.h' 'server/*.h' 'tests/*.h'); do \
		case $$h in core/kernels/*|api/json/kernels/*|*/tables/*) continue ;; esac; \
		$(CC) -std=gnu11 $(WARN) -Wno-pedantic -Wno-unused-function -I. -D_GNU_SOURCE -fsyntax-only -x c $$h || exit 1; done

sanitize: ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
	$(call install,$(TEST_PACKAGES))
	@$(MAKE) --no-print-directory check SAN=address,undefined

test-thread: ## the tests that share memory between threads, under ThreadSanitizer
	$(call install,$(TEST_PACKAGES))
	@$(MAKE) --no-print-directory check SAN=thread ONLY="pool arena kernels norm jobs http"

NEON := CC=aarch64-linux-gnu-gcc TEST_LIBS="-lcheck -lsubunit -lrt -lmpfr -lgmp" B=build/neon
test-neon: ## the core's and the codec's tests as aarch64 programs under qemu
	@[ "$(DEPS)" = 0 ] || dpkg --print-foreign-architectures | grep -qx arm64 || $(SUDO) dpkg --add-architecture arm64
	$(call install,$(NEON_PACKAGES))
	@$(MAKE) --no-print-directory $(NEON) check-neon

.PHONY: check-neon
# The search of /diagnose is minutes under an emulator; its arithmetic is that of the kernels, which are compared.
check-neon: $(filter-out %/test_diagnose,$(filter $(B)/tests/core/% $(B)/tests/kernels/% $(B)/tests/api/test_json_number% %/test_base64,$(TESTS)))
	@BUILD=$(B) RUNNER=qemu-aarch64-static tests/run.sh $^

.PHONY: image test-image image-tools
IMAGE := normd:$(VERSION)
image-tools:
	$(if $(shell docker info >/dev/null 2>&1 && echo yes),,$(call install,buildah podman runc mmdebstrap))

image: image-tools ## build the container image (docker, or buildah where there is no engine)
	docker/image.sh $(IMAGE)

test-image: image ## run the image read-only without capabilities and call every endpoint
	$(call install,curl python3)
	tests/image.sh $(IMAGE)

test-bare: ## `make run` and `make test` in a Debian 12 that has only make (root, mmdebstrap)
	$(call install,mmdebstrap git)
	@tests/bare.sh

test-all: ## all of the above, as .ci/run does
	@.ci/run all

.PHONY: clean help
clean: ## delete everything built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z0-9 -]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9 -]+):.*## /\1\t/' | \
		while IFS="$$(printf '\t')" read -r t d; do printf '  make %-18s %s\n' "$$t" "$$d"; done

-include $(wildcard tests/*/*.mk)
