import Glibc
import Tandem
import TandemIO
import Testing

/// A program whose main thread runs a loop that is not part of Swift's runtime, while other
/// processes save.
@Suite(.ownThread) struct MainLoopTests: StoreSuite {
    /// The loops of the program `MainLoops`.
    enum Loop: String, CaseIterable, Sendable {
        case poll, glib

        /// Whether the loop's library is installed.
        var isInstalled: Bool {
            self == .poll || dlopen("libglib-2.0.so.0", RTLD_NOW) != nil
        }
    }

    static let installed = Loop.allCases.filter(\.isInstalled)

    let place: Place

    init() throws { place = try Place.serving() }

    /// The running program, and the lines that it prints.
    private final class Program {
        private let child: ChildProcess
        private let lines: StandardInput

        init(_ loop: Loop, _ socket: String) throws {
            child = try ChildProcess.start(
                DaemonProcess.products + "/MainLoops", [loop.rawValue, socket], input: .pipe,
                output: .pipe)
            lines = StandardInput(descriptor: try #require(child.output))
        }

        func write(_ line: String) { child.write(line + "\n") }

        /// Reads lines up to the one with these items.
        func reads(_ items: String) throws -> Bool {
            while let line = try lines.readLine() {
                let text = String(decoding: line, as: UTF8.self)
                if text == ("items: " + items) { return true }
                #expect(text.hasPrefix("items: "))
            }
            return false
        }

        /// Ends the program by its own command.
        func quit() -> ChildProcess.Status {
            write("quit")
            return child.wait()
        }
    }

    @Test(arguments: installed)
    func `follows the saves of another process`(loop: Loop) throws {
        let program = try Program(loop, place.socket)
        #expect(try program.reads(""))
        for names in ["a", "a b", "a b c"] {
            expect(try tandem("insert", "Item", "name=\(names.suffix(1))"), 0)
            #expect(try program.reads(names))
        }
        #expect(program.quit() == .exited(0))
    }

    @Test(arguments: installed)
    func `saves in callbacks, blocking and awaited`(loop: Loop) throws {
        let program = try Program(loop, place.socket)
        #expect(try program.reads(""))
        program.write("add a")
        #expect(try program.reads("a"))
        program.write("later b")
        #expect(try program.reads("a b"))
        expect(try tandem("insert", "Item", "name=c"), 0)
        #expect(try program.reads("a b c"))
        expect(try tandem("count", "Item"), 0, "3")
        #expect(program.quit() == .exited(0))
    }

    @Test(.enabled(if: Loop.glib.isInstalled, "libglib2.0-0 is not installed"))
    func `one of the loops is GLib's`() {
        #expect(Self.installed == Loop.allCases)
    }
}
