import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TestSupport
import Testing

/// A daemon isolated as far as this machine allows without systemd.
///
/// It runs as another user without capabilities or new privileges, and without the machine's
/// network, System V IPC and host name. All file systems except its own folder are read-only, and
/// `/proc` shows only processes.
///
/// Building the sandbox requires root, `setpriv`, `nsenter` and namespaces; the tests are skipped
/// if one of them is missing.
@Suite(.ownThread, .enabled(if: Sandbox.isPossible, "namespaces, setpriv or root are missing"))
struct SandboxTests {
    @Test func `user, group, process and unit of a writer are recorded through the sandbox`() throws
    {
        let place = try Place()
        let sandbox = try Sandbox(place)
        let unit = try Unit("tandem-test-\(ThisProcess.processID).service")
        let setup = try BridgeProcess(place.socket)
        try setup.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        // A writer with another user and group, in a unit of its own if one can be created here.
        let run = try CommandRun(
            shell: "\(unit.enter) setpriv --reuid=4242 --regid=4343 --clear-groups -- "
                + "sh -c 'echo $$; exec \"$0\" bridge --socket \"$1\" --author saver' "
                + "'\(place.path)/bin/tandem' '\(place.socket)' << 'END'\n"
                + #"{"id": 1, "do": "save", "ops": [{"insert": "Team", "set": {"name": "a"}}]}"#
                + "\nEND")
        #expect(run.code == 0, "\(run.output)")
        let processID = try #require(run.lines.first.flatMap { Int64($0) }, "\(run.output)")
        let log = try CommandRun(
            "tandem", ["log", "-n", "1", "-o", "json", "--socket", place.socket])
        let saved = try #require(log.json.first, "\(log.output)")
        #expect(saved["author"]?.string == "saver", "\(run.output)")
        #expect(saved["uid"] == .int(4_242) && saved["gid"] == .int(4_343))
        #expect(saved["pid"] == .int(processID))
        #expect(saved["unit"]?.string == unit.expected, "\(saved)")
        _ = try setup.finish()
        #expect(sandbox.daemon.end(SIGTERM) == 0)
    }

    @Test func `inside the sandbox only its folder is writable, and nothing is reachable`() throws {
        let place = try Place()
        let sandbox = try Sandbox(place)
        let daemon = sandbox.daemon.processID
        func look(_ line: String) throws -> CommandRun {
            try CommandRun(shell: "nsenter -t \(daemon) -m -n -- sh -c '\(line)'")
        }
        #expect(try look("touch /tandem-was-here").code != 0)
        #expect(try look("ls /proc/sys").code != 0)
        for space in ["net", "mnt", "ipc", "uts"] {
            let its = try CommandRun(shell: "readlink /proc/\(daemon)/ns/\(space)").output
            #expect(try CommandRun(shell: "readlink /proc/self/ns/\(space)").output != its)
        }
        let status = try CommandRun(shell: "cat /proc/\(daemon)/status").output
        #expect(status.contains("CapBnd:\t0000000000000000") && status.contains("NoNewPrivs:\t1"))
        #expect(status.contains("Uid:\t\(Sandbox.uid)\t"))
        #expect(sandbox.daemon.end(SIGTERM) == 0)
    }
}

/// A daemon in a sandbox, with a test folder of its own.
struct Sandbox {
    static let uid = 4_141
    let daemon: DaemonProcess

    static let isPossible =
        ThisProcess.effectiveUserID == 0 && isInstalled("setpriv") && isInstalled("nsenter")
        && ((try? CommandRun(shell: "unshare --mount --net --ipc --uts true"))?.code == 0)

    /// A script that does the same as systemd for the unit, in the same order: namespaces, mounts,
    /// then the user.
    private static let script = """
        set -e
        mount --make-rprivate /
        mount --bind "$PLACE" "$PLACE"
        for point in $(awk '$2 !~ "^(/proc|/sys|/dev)" {print $2}' /proc/self/mounts); do
            [ "$point" = "$PLACE" ] || mount -o remount,bind,ro "$point" 2>/dev/null || true
        done
        mount -t proc -o subset=pid,nosuid,nodev,noexec proc /proc
        exec setpriv --reuid=\(uid) --regid=\(uid) --clear-groups --no-new-privs \
            --bounding-set=-all --inh-caps=-all -- "$@"
        """

    init(_ place: Place) throws {
        // Other users may have no access to the build folder.
        let bin = place.path + "/bin"
        try CommandRun(
            shell:
                "mkdir '\(bin)' && cp '\(DaemonProcess.products)/tandem' '\(DaemonProcess.products)/tandemd' '\(bin)' && "
                + "chmod 755 '\(place.path)' '\(bin)' && chown \(Self.uid) '\(place.path)'"
        ).check()
        let script = place.path + "/enter"
        try Self.script.write(toFile: script, atomically: true, encoding: .utf8)
        daemon = try DaemonProcess(
            "tandemd",
            ["--store", place.store, "--socket", place.socket, "--segment-mebibytes", "1"],
            shell: "export PLACE='\(place.path)'; shift 0; set -- '\(bin)/tandemd' \"$@\"; "
                + "exec unshare --mount --net --ipc --uts -- sh '\(script)' \"$@\"")
        let lines = daemon.readOutput { $0.contains("ready:") }
        try #require(lines.contains("ready:"), "the daemon did not start: \(lines)")
        // The system's socket unit lets a group connect; here every user may.
        try CommandRun(shell: "chmod 666 '\(place.socket)'").check()
    }
}

/// A control group that looks like a service's, if the machine allows creating one.
private final class Unit {
    let expected: String
    private let folder: String?

    init(_ name: String) throws {
        let roots = ["/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"]
        let root = roots.first {
            guard RealFileSystem().exists($0 + "/cgroup.procs") else { return false }
            return (try? CommandRun(shell: "mkdir '\($0)/\(name)'"))?.code == 0
        }
        folder = root.map { $0 + "/" + name }
        expected =
            folder != nil ? name : ThisProcess.systemdUnits(ofProcess: getpid())?.description ?? ""
    }

    /// The shell command that moves the shell into the control group.
    var enter: String { folder.map { "echo $$ > '\($0)/cgroup.procs';" } ?? "" }

    deinit {
        if let folder { rmdir(folder) }
    }
}
