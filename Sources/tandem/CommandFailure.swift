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

    func exit() -> Never {
        printRemark(message)
        TandemCommand.exit(withError: ExitCode(code))
    }
}

extension String {
    /// The directory that has a path's last name.
    var parentDirectory: String {
        let path = hasSuffix("/") ? dropLast() : self[...]
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
