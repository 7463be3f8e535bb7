import ArgumentParser
import Tandem
import TandemIO

/// Why a verb failed: one line for people, and the exit code for scripts.
struct CommandFailure: Error {
    var message: String
    var code: Int32

    /// A problem that was found, or another code.
    init(_ message: String, code: Int32 = 1) {
        self.message = message
        self.code = code
    }

    init(_ error: TandemError) {
        message = error.message
        code =
            switch error.code {
            case .usage, .unknownEntity, .unknownProperty, .invalidPredicate, .noSortDescriptors: 2
            // A daemon that is stopped or busy and one that is missing are one condition to a script.
            case .disconnected, .timeout: 3
            case .denied: 4
            case .historyExpired: 5
            default: 1
            }
    }

    /// Throws a failure if a position comes after the last one.
    static func checkReached(_ position: UInt64, _ last: UInt64) throws {
        guard position > last else { return }
        throw CommandFailure("position \(position) is not reached; the last is \(last)")
    }

    func exit() -> Never {
        printRemark(message)
        TandemCommand.exit(withError: ExitCode(code))
    }
}

extension String {
    /// The path without slashes at its end, so that a suffix can be appended to its last name.
    var withoutTrailingSlashes: String {
        let kept = reversed().drop { $0 == "/" }.reversed()
        return kept.isEmpty && hasPrefix("/") ? "/" : String(kept)
    }

    /// The directory that has a path's last name.
    var parentDirectory: String {
        let path = withoutTrailingSlashes
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
