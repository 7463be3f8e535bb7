import FoundationEssentials
import Glibc
import TandemIO
import Testing

/// The command of `make demo`, without a terminal.
@Suite(.ownThread) struct DemoTests {
    private func demo(_ place: Place, _ shell: String = "exec \"$0\" \"$@\"") throws -> CommandRun {
        let products = DaemonProcess.products
        return try CommandRun(
            path: "/usr/bin/env",
            [
                "TMPDIR=\(place.path)", "/bin/sh", "-c", shell, products + "/worldcup", "demo",
                "--tandemd", products + "/tandemd", "--delay", "0",
            ])
    }

    /// Returns the processes that name a directory in their arguments.
    private func processes(naming directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard name.utf8.allSatisfy({ (48...57).contains($0) }),
                let bytes = FileManager.default.contents(atPath: "/proc/\(name)/cmdline")
            else { return false }
            return String(decoding: bytes, as: UTF8.self).contains(directory + "/worldcup-")
        }
    }

    @Test func `the demo plays to the end, agrees with itself and leaves nothing behind`() throws {
        let place = try Place()
        let run = try demo(place)
        #expect(run.code == 0, "\(run.output)")
        #expect(run.lines.last == "The live table is the same, and no process missed a save.")
        #expect(run.lines.contains { $0.hasPrefix("The final table") })
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
        #expect(try processes(naming: place.path).isEmpty)
    }

    @Test func `an interrupted demo fails, and leaves nothing behind either`() throws {
        let place = try Place()
        // The signal arrives during the tournament: the first goals are in the table.
        let run = try demo(
            place,
            """
            exec 3>&1
            { "$0" "$@" --delay 50 & echo "$!"; wait "$!"; echo "code $?" >&3; } 2>&1 | {
                read -r demo
                seen=0
                while read -r line; do
                    if [ $seen = 0 ]; then seen=1; kill -TERM "$demo"; fi
                done
            }
            """)
        #expect(run.output.contains("code 1"), "\(run.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
        #expect(try processes(naming: place.path).isEmpty)
    }

    @Test func `make demo runs the demo`() throws {
        let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        let run = try CommandRun(path: "/usr/bin/env", ["make", "-C", "/" + root, "-n", "demo"])
        #expect(run.code == 0)
        #expect(run.output.contains("worldcup\" demo --tandemd \"$bin/tandemd\""), "\(run.output)")
    }
}
