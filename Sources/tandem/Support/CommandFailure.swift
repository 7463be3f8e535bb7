import Tandem
import TandemIO

/// The failure of a verb: one human-readable line, and the exit code for scripts.
struct CommandFailure: Error {
    var message: String
    var code: Int32

    /// Creates a failure; the code 1 means that a problem was found.
    init(_ message: String, code: Int32 = 1) {
        self.message = message
        self.code = code
    }

    init(_ error: TandemError) {
        message = error.message
        code =
            switch error.code {
            case .usage, .unknownEntity, .unknownProperty, .invalidPredicate, .noSortDescriptors: 2
            // For a script, a daemon that does not answer is the same as a missing one.
            case .disconnected, .timeout: 3
            case .denied: 4
            case .historyExpired: 5
            default: 1
            }
    }

    /// Returns the failure with a remedy appended to its message.
    func adding(_ remedy: String) -> CommandFailure {
        CommandFailure("\(message); \(remedy)", code: code)
    }

    /// Throws a failure if a position is beyond the last one.
    static func checkReached(_ position: UInt64, _ last: UInt64) throws {
        guard position > last else { return }
        throw CommandFailure(TandemError.afterEnd(position, last: last).message)
    }
}

extension String {
    /// The path without trailing slashes, so that a suffix can be appended to its last component.
    var withoutTrailingSlashes: String {
        let kept = reversed().drop { $0 == "/" }.reversed()
        return kept.isEmpty && hasPrefix("/") ? "/" : String(kept)
    }

    /// The directory that contains the path's last component.
    var parentDirectory: String {
        let path = withoutTrailingSlashes
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
