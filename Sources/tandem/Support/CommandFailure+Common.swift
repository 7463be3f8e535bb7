import Tandem
import TandemIO
import TandemJournal

/// The failures that several verbs report, so that their messages are the same everywhere.
extension CommandFailure {
    /// Returns the failure for a directory that does not exist.
    static func noDirectory(_ path: String) -> CommandFailure {
        CommandFailure("there is no directory \(path)")
    }

    /// Returns the usage error for a file that does not exist.
    static func noFile(_ path: String) -> CommandFailure {
        CommandFailure("there is no file \(path)", code: 2)
    }

    /// Returns the failure for a directory without a journal.
    static func noJournal(in directory: String) -> CommandFailure {
        CommandFailure("there is no journal in \(directory); -D takes the directory of a store")
    }

    /// Returns the failure for a damaged section of a journal; `remedy` is appended.
    static func damaged(_ gap: JournalReader.Gap, _ remedy: String) -> CommandFailure {
        CommandFailure("the journal is damaged: \(gap); \(remedy)")
    }

    /// Returns the usage error for an argument that is not a position.
    static func notAPosition(_ text: String) -> CommandFailure {
        CommandFailure("`\(text)` is not a position; give NUMBER or NUMBER@EPOCH-LOG", code: 2)
    }

    /// Returns the usage error for an argument that is not the id of an object.
    static func notAnObject(_ text: String) -> CommandFailure {
        CommandFailure(notAnObjectID(text), code: 2)
    }

    /// Returns the message for a string that is not the id of an object.
    static func notAnObjectID(_ text: String) -> String {
        "`\(text)` is not an object id; give ENTITY/NUMBER, such as Team/3"
    }
}
