import Foundation
import TandemIO
import TestSupport
import Testing

/// The baseline of the public interface.
@Suite(.ownThread) struct PublicInterfaceTests {
    /// The maximum number of symbols that `import Tandem` may show.
    ///
    /// It may only get smaller; the aim is 700.
    private static let limit = 810
    private static let path = "Tests/TidyTests/PublicInterface.txt"

    @Test func `the public interface is the one of the baseline`() throws {
        let interface = try PublicInterface(modules: ThisProcess.sibling("Modules"))
        let count = interface.countSeenByApps
        #expect(
            count <= Self.limit,
            "`import Tandem` shows \(count) symbols; make those `package` that apps do not need")
        if ProcessInfo.processInfo.environment["TANDEM_API_BASELINE"] == "1" {
            let text = interface.lines.joined(separator: "\n") + "\n"
            try text.write(
                toFile: Tree.root + "/" + Self.path, atomically: true, encoding: .utf8)
            return
        }
        let baseline = try Tree.text(Self.path).split(separator: "\n").map(String.init)
        let changes = interface.changes(from: baseline)
        #expect(
            changes.isEmpty,
            """
            the public interface has changed; if this is intended, run `make api-baseline` and \
            commit \(Self.path):
            \(changes.joined(separator: "\n"))
            """)
    }
}
