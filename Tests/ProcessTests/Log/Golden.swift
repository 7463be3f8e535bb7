import Foundation
import Testing

/// The expected output of programs, byte for byte, in files next to the tests.
///
/// `TANDEM_GOLDEN=1` rewrites the files; the changes then show in the diff to be committed.
enum Golden {
    private static var folder: String {
        let parts = #filePath.split(separator: "/").dropLast(2)
        return "/" + parts.joined(separator: "/") + "/Golden"
    }

    /// Compares an output with the file of this name.
    static func expect(
        _ output: String, _ name: String, at location: SourceLocation = #_sourceLocation
    ) throws {
        let path = folder + "/" + name
        if ProcessInfo.processInfo.environment["TANDEM_GOLDEN"] == "1" {
            try Data(output.utf8).write(to: URL(fileURLWithPath: path))
        }
        let wanted = try #require(
            FileManager.default.contents(atPath: path),
            "no file \(name); TANDEM_GOLDEN=1 makes it", sourceLocation: location)
        #expect(output == String(decoding: wanted, as: UTF8.self), sourceLocation: location)
    }
}
