"""Faults of the system, each staged, and the line that doctor says."""

import sys
from pathlib import Path

import pytest

from firmware_app.doctor import Status
from firmware_app.doctor.checks import build, packages, processor, python, swap
from tests.doctor.conftest import Box


def test_a_python_that_is_too_new_or_32_bit_is_named() -> None:
    good = python.judge((3, 13, 5), 64, "aarch64", "Debian")
    assert good.status is Status.PASS
    new = python.judge((3, 14, 0), 64, "aarch64", "Debian")
    assert new.status is Status.FAIL
    assert "Python 3.14.0" in new.line
    assert "3.11 to 3.13" in new.line
    assert python.judge((3, 11, 2), 32, "armv7l", "Raspbian").status is Status.FAIL


def test_this_system_is_read_from_its_release_file(box: Box) -> None:
    box.file("/etc/os-release", 'NAME="x"\nPRETTY_NAME="Raspberry Pi OS 13"\n')
    assert "Raspberry Pi OS 13" in box.finds("python").line


def test_packages_that_are_missing_or_differ_are_named(tmp_path: Path) -> None:
    lock = (
        "numpy==2.4.6 ; python_full_version < '3.12' \\\n    --hash=sha256:00\n"
        "numpy==2.5.5 ; python_full_version >= '3.12' \\\n"
        "soxr==1.0.0 \\\nvosk==0.3.45 \\\ncolorama==0.4.6 ; sys_platform == 'win32' \\\n"
    )
    for name, version in (("numpy", "2.5.5"), ("soxr", "0.9.0")):
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    there = packages.installed([str(tmp_path)])
    missing = packages.judge(lock, there)
    assert (missing.status, missing.line) == (Status.FAIL, "Packages are missing: vosk.")
    assert missing.mend == "Run ./scripts/setup."

    other = packages.judge(lock, there | {"vosk": "0.3.45"})
    assert other.status is Status.WARN
    assert "soxr 0.9.0 instead of 1.0.0" in other.line
    assert packages.judge(lock, {"numpy": "2.4.6", "soxr": "1.0.0", "vosk": "0.3.45"}).mend == ""


def test_a_processor_without_fast_instructions_is_a_warning(box: Box) -> None:
    box.file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu sse2 ssse3\n")
    finding = box.finds("processor")
    assert finding.status is Status.WARN
    assert "without avx2 and fma" in finding.line
    assert processor.judge({"asimd", "asimddp"}, 4).status is Status.PASS
    assert "asimddp" in processor.judge({"asimd"}, 4).line  # a Raspberry Pi 4
    assert processor.judge({"avx2", "fma"}, 1).status is Status.WARN


def test_an_engine_built_for_another_processor_is_found_before_it_dies() -> None:
    info = "CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 1 | LLAMAFILE = 1 | "
    finding = build.judge(info, 0, {"pni", "avx2"})
    assert finding.status is Status.FAIL
    assert "AVX512" in finding.line
    assert "--rebuild-model" in finding.mend
    assert build.judge(info, 0, {"pni", "avx2", "avx512f"}).status is Status.PASS

    amx = build.judge("AMX_INT8 = 1", 0, {"amx_int8", "hypervisor"})
    assert (amx.status, "virtual machines" in amx.line) == (Status.WARN, True)


def test_an_engine_that_dies_or_is_missing_costs_a_child_process_only() -> None:
    dies = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    finding = build.judge(*build.features(dies), {"avx2"})
    assert (finding.status, "dies when it is loaded (11)" in finding.line) == (Status.FAIL, True)
    missing = build.judge(*build.features((sys.executable, "-c", "import no_such_thing")), set())
    assert missing.mend == "Run ./scripts/setup."


def test_the_build_that_is_installed_suits_this_processor(box: Box) -> None:
    box.file("/proc/cpuinfo", Path("/proc/cpuinfo").read_text())
    finding = box.finds("build")
    assert finding.status is Status.PASS
    assert ("AVX" in finding.line) or ("NEON" in finding.line)


@pytest.mark.parametrize(
    ("bits", "status", "says"),
    [
        ("0x0", Status.PASS, "Enough voltage"),
        ("0x50005", Status.FAIL, "At this moment the voltage is too low, the processor is"),
        ("0x50000", Status.WARN, "Since the start the voltage was too low"),
        ("0x80008", Status.FAIL, "too warm"),
    ],
)
def test_under_voltage_and_throttling_are_told(
    box: Box, bits: str, status: Status, says: str
) -> None:
    box.fake_command("vcgencmd", f"throttled={bits}")
    finding = box.finds("power")
    assert finding.status is status
    assert says in finding.line
    if "voltage" in finding.line and status is not Status.PASS:
        assert "power supply" in finding.mend


def test_without_the_command_the_kernel_is_asked(box: Box) -> None:
    box.fake_command("vcgencmd", "", status=1)
    assert "does not tell" in box.finds("power").line
    box.file("/sys/class/hwmon/hwmon3/name", "rpi_volt\n")
    box.file("/sys/class/hwmon/hwmon3/in0_lcrit_alarm", "1\n")
    assert box.finds("power").line == "The voltage is too low."
    box.file("/sys/devices/platform/soc/soc:firmware/get_throttled", "20000\n")
    assert "the clock was capped" in box.finds("power").line


@pytest.mark.parametrize(
    ("millidegrees", "status"),
    [("47200", Status.PASS), ("81000", Status.WARN), ("86100", Status.FAIL)],
)
def test_the_warmest_sensor_counts(box: Box, millidegrees: str, status: Status) -> None:
    box.file("/sys/class/thermal/thermal_zone0/temp", "40000\n")
    box.file("/sys/class/thermal/thermal_zone1/temp", f"{millidegrees}\n")
    finding = box.finds("temperature")
    assert finding.status is status
    assert f"{int(millidegrees) / 1000:.0f} °C" in finding.line


def test_a_processor_that_is_held_back_is_found(box: Box) -> None:
    policy = "/sys/devices/system/cpu/cpu0/cpufreq"
    box.file(f"{policy}/scaling_governor", "powersave\n")
    assert box.finds("governor").status is Status.WARN
    box.file(f"{policy}/scaling_governor", "ondemand\n")
    box.file(f"{policy}/scaling_max_freq", "600000\n")
    box.file(f"{policy}/cpuinfo_max_freq", "1800000\n")
    assert "limited to 600 of 1800 MHz" in box.finds("governor").line
    box.file(f"{policy}/scaling_max_freq", "1800000\n")
    assert box.finds("governor").status is Status.PASS


def test_too_little_memory_is_told_before_the_kernel_kills(box: Box) -> None:
    box.file("/proc/meminfo", "MemTotal:  926000 kB\nMemAvailable:  102400 kB\n")
    finding = box.finds("memory")
    assert (finding.status, finding.line) == (Status.FAIL, "100 of 904 MB are left.")
    box.file("/proc/meminfo", "MemTotal:  926000 kB\nMemAvailable:  512000 kB\n")
    assert box.finds("memory").status is Status.WARN
    box.service()  # which has taken its part already
    assert box.finds("memory").status is Status.PASS


def test_memory_on_the_card_is_told_and_memory_compressed_is_not(box: Box) -> None:
    heading = "Filename\tType\tSize\tUsed\tPriority\n"
    box.file("/proc/swaps", f"{heading}/var/swap file 102396 {swap.USED + 1024} -2\n")
    finding = box.finds("swap")
    assert (finding.status, "51 MB" in finding.line) == (Status.WARN, True)
    box.file("/proc/swaps", f"{heading}/dev/zram0 partition 500000 400000 100\n")
    assert box.finds("swap").status is Status.PASS


def test_a_clock_in_the_past_is_found(box: Box) -> None:
    box.context["now"] = lambda: 1_000_000_000.0
    finding = box.finds("clock")
    assert (finding.status, "2001" in finding.line) == (Status.FAIL, True)


def test_a_clock_that_nothing_sets_is_a_warning(box: Box) -> None:
    box.fake_command("timedatectl", "no")
    assert box.finds("clock").status is Status.WARN
    box.fake_command("timedatectl", "yes")
    assert "set by the network" in box.finds("clock").line
    box.fake_command("timedatectl", "no")
    box.file("/run/systemd/timesync/synchronized", "")
    assert box.finds("clock").status is Status.PASS


def test_a_time_zone_that_nobody_chose_or_that_is_missing_is_found(box: Box) -> None:
    local = box.root / "etc/localtime"
    zone = box.file("/usr/share/zoneinfo/Etc/UTC", "TZif2")
    local.parent.mkdir()
    local.symlink_to(zone)
    assert box.finds("time-zone").status is Status.WARN
    local.unlink()
    local.symlink_to("/usr/share/zoneinfo/Europe/Atlantis")
    gone = box.finds("time-zone")
    assert (gone.status, "Europe/Atlantis is not installed" in gone.line) == (Status.FAIL, True)
    local.unlink()
    local.symlink_to(box.file("/usr/share/zoneinfo/Europe/Paris", "TZif2"))
    assert box.finds("time-zone").status is Status.PASS
