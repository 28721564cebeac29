# make install: the daemon, libnormcore for C and C++ (one header, static and shared), its pkg-config file, man pages.

PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
LIBDIR     ?= $(PREFIX)/lib
MANDIR     ?= $(PREFIX)/share/man

SONAME := libnormcore.so.$(firstword $(subst ., ,$(VERSION)))
I := $(B)/installed
INSTALLED := $(addprefix $(I)/,normcore.h libnormcore.a libnormcore.so.$(VERSION) normd.1 normcore.3)

# One object of all of core in which only the public functions are global still: what is hidden becomes local.
$(I)/normcore.o: $(CORE_O)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -r -nostdlib -o $@ $^ && objcopy --localize-hidden $@

$(I)/libnormcore.a: $(I)/normcore.o

$(I)/libnormcore.so.$(VERSION): $(I)/normcore.o
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs $(OUR_LD) $(LDFLAGS) -o $@ $^ $(LIBS)

$(I)/normcore.h: core/install/one_header.awk core/normcore.h $(shell find core -name '*.h' -o -name '*.def')
	$(call say,MAKE,$@)
	@mkdir -p $(@D)
	$(Q)awk -f $< core/normcore.h >$@

# The flags of the page are those of --help; its example is the one that the tests build.
$(I)/normd.1: server/normd.1.in core/install/man.awk $(B)/normd
	$(call say,MAKE,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/normd --help >$@.help && awk -v version=$(VERSION) -v help=$@.help -f core/install/man.awk $< >$@

$(I)/normcore.3: core/install/normcore.3.in core/install/man.awk core/install/example.c
	$(call say,MAKE,$@)
	@mkdir -p $(@D)
	$(Q)awk -v version=$(VERSION) -v example=core/install/example.c -f core/install/man.awk $< >$@

under_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))

.PHONY: install uninstall
install: $(B)/normd $(INSTALLED) ## install daemon, library, man pages (PREFIX=/usr/local BINDIR= INCLUDEDIR= LIBDIR= MANDIR= DESTDIR=)
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(INCLUDEDIR) $(LIBDIR)/pkgconfig $(MANDIR)/man1 $(MANDIR)/man3)
	install -m 755 $(B)/normd $(DESTDIR)$(BINDIR)
	install -m 644 $(I)/normcore.h $(DESTDIR)$(INCLUDEDIR)
	install -m 644 $(I)/libnormcore.a $(I)/libnormcore.so.$(VERSION) $(DESTDIR)$(LIBDIR)
	ln -sf libnormcore.so.$(VERSION) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libnormcore.so
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@INCLUDEDIR@|$(call under_prefix,$(INCLUDEDIR))|' \
		-e 's|@LIBDIR@|$(call under_prefix,$(LIBDIR))|' -e 's|@VERSION@|$(VERSION)|' core/install/normcore.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/normcore.pc
	install -m 644 $(I)/normd.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 $(I)/normcore.3 $(DESTDIR)$(MANDIR)/man3

uninstall: ## delete what `make install` with the same variables put there
	rm -f $(addprefix $(DESTDIR),$(BINDIR)/normd $(INCLUDEDIR)/normcore.h $(MANDIR)/man1/normd.1 $(MANDIR)/man3/normcore.3 \
		$(addprefix $(LIBDIR)/,libnormcore.a libnormcore.so $(SONAME) libnormcore.so.$(VERSION) pkgconfig/normcore.pc))
