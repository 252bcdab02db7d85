# shellcheck shell=bash disable=SC2034 # what it sets is used by those that source it
# What scripts/install and scripts/update share: where things are on a box, and how the service is
# switched from one release to another. Sourced by them, from the folder of the project.
#
# $root is empty, or the folder that stands for / (--root). With --root the service manager is left
# alone, unless SYSTEMCTL names a program to call in its stead.

set_places() {
  releases=$root/opt/hey-echo/releases
  current=$root/opt/hey-echo/current # the release that runs
  state=$root/var/lib/hey-echo
  config=$root/etc/hey-echo/config.toml
  runtime=$root/run/hey-echo
  unit=$root/etc/systemd/system/hey-echo.service
  sysusers=$root/etc/sysusers.d/hey-echo.conf
  tmpfiles=$root/etc/tmpfiles.d/hey-echo.conf
  rules=$root/etc/udev/rules.d/60-hey-echo.rules
  program=$root/usr/local/bin/hey-echo
}

fail() { # what, mend
  printf '%s\n%s\n' "${0##*/} stopped: $1." "$2" >&2
  exit 1
}

refuse_others() { # only root may, except in a root of one's own
  [[ -n $root ]] || ((EUID == 0)) || fail "only root may do this" "Run: sudo $0"
}

manager() { # arguments of systemctl
  if [[ -n ${SYSTEMCTL:-} ]]; then
    "$SYSTEMCTL" "$@"
  elif [[ -z $root && (-d /run/systemd/system || $1 == enable) ]]; then
    systemctl "$@" # in a root without a manager a service can still be enabled
  fi
}

has_manager() {
  [[ -n ${SYSTEMCTL:-} || (-z $root && -d /run/systemd/system) ]]
}

echo_of() { # release, arguments of hey-echo: runs it as the service's user, on the box's own data
  local release=$1 as=()
  shift
  if [[ -z $root ]]; then
    as=(runuser -u hey-echo --)
  else
    local models=${HEY_ECHO_PATHS_MODELS:-$state/models}
    as=(env "HEY_ECHO_PATHS_STATE=$state" "HEY_ECHO_PATHS_RUNTIME=$runtime"
      "HEY_ECHO_PATHS_MODELS=$models")
    [[ ! -e $config ]] || as+=("HEY_ECHO_CONFIG=$config")
  fi
  (cd / && "${as[@]}" "$release/.venv/bin/hey-echo" "$@")
}

# --- a release: a copy of the project with an environment of its own -----------------------------

tree() { # folder: an archive of the project in it, the same for the same files
  tar --create --directory="$1" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
    --exclude=./.git --exclude=./.venv --exclude=__pycache__ --exclude='./.*_cache' \
    --exclude='*.egg-info' --exclude=./.hypothesis .
}

version_of() { # folder
  sed -n 's/^__version__ = "\(.*\)"/\1/p' "$1/firmware_app/__init__.py"
}

make_release() { # folder of the project; sets release
  local from=$1 sum
  sum=$(tree "$from" | sha256sum | cut -c 1-12)
  release=$releases/$(version_of "$from")-$sum
  if [[ ! -e $release/.complete ]]; then
    rm -rf "$release"
    mkdir -p "$release"
    tree "$from" | tar --extract --directory="$release" --no-same-owner
  fi
  mkdir -p "$state/models"
  HEY_ECHO_PATHS_MODELS=${HEY_ECHO_PATHS_MODELS:-$state/models} "$release/scripts/setup"
  lend_gpio "$release"
  chmod -R go=rX "$release"
  touch "$release/.complete"
}

lend_gpio() { # release: the system's lgpio, by which buttons and plain LEDs are reached; no wheel has it
  local lgpio site
  lgpio=$(/usr/bin/python3 -c 'import lgpio; print(lgpio.__file__)' 2>/dev/null) || return 0
  site=$("$1/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
  ln -sf "$lgpio" "${lgpio%/*}"/_lgpio*.so "$site"
}

forget_releases() { # all but the one that runs and the one given, to go back to
  local old
  for old in "$releases"/*/; do
    old=${old%/}
    [[ $old -ef $current || $old -ef ${1:-$current} ]] || rm -rf "$old"
  done
}

# --- switching to a release ----------------------------------------------------------------------

switch_to() { # release: from now on this one is started
  local made=$1
  place "$made/systemd/hey-echo.service" "$unit"
  place "$made/systemd/hey-echo.sysusers" "$sysusers"
  place "$made/systemd/hey-echo.tmpfiles" "$tmpfiles"
  place "$made/systemd/60-hey-echo.rules" "$rules"
  systemd-sysusers ${root:+"--root=$root"} "${sysusers##*/}"
  systemd-tmpfiles ${root:+"--root=$root"} --create "${tmpfiles##*/}"
  chown -R --reference="$state" "$state/models"
  ln -sfn "releases/${made##*/}" "$current.new" # replaced at once, so that it is never missing
  mv -fT "$current.new" "$current"
  mkdir -p "${program%/*}"
  ln -sfn "${current#"$root"}/.venv/bin/hey-echo" "$program"
  if [[ -z $root ]] && command -v udevadm >/dev/null; then
    udevadm control --reload 2>/dev/null || true # there is none in a container
    udevadm trigger --subsystem-match=usb --subsystem-match=spidev --subsystem-match=gpio \
      2>/dev/null || true
  fi
  manager daemon-reload
}

place() { # file, where
  mkdir -p "${2%/*}"
  install -m 644 "$1" "$2"
}

fault_of() { # release: what keeps the running service from listening, or none
  echo_of "$1" status --json 2>/dev/null | sed -n 's/^ *"fault": "\(.*\)",\{0,1\}$/\1/p'
}

becomes_ready() { # release, a fault that it may have: whether the service is up and listens
  local allowed=${2:-none} fault
  manager restart hey-echo || return 1 # it waits until Echo says that it is ready
  for _ in {1..20}; do
    fault=$(fault_of "$1")
    [[ $fault != none && $fault != "$allowed" ]] || return 0
    [[ -z $fault ]] || break # it says itself what is wrong
    sleep 0.5
  done
  echo "It does not become ready: ${fault:-it cannot be reached}" >&2
  return 1
}
