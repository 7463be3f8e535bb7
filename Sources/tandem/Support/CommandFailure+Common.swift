import Tandem
import TandemIO
import TandemJournal

/// Failures that several verbs report, each with one wording.
extension CommandFailure {
    /// A directory that does not exist.
    static func noDirectory(_ path: String) -> CommandFailure {
        CommandFailure("there is no directory \(path)")
    }

    /// A file that does not exist; wrong usage.
    static func noFile(_ path: String) -> CommandFailure {
        CommandFailure("there is no file \(path)", code: 2)
    }

    /// A directory without a journal.
    static func noJournal(in directory: String) -> CommandFailure {
        CommandFailure("there is no journal in \(directory); -D takes the directory of a store")
    }

    /// A damaged section of a journal; `remedy` says what to do.
    static func damaged(_ gap: JournalReader.Gap, _ remedy: String) -> CommandFailure {
        CommandFailure("the journal is damaged: \(gap); \(remedy)")
    }

    /// A text that is not a position; wrong usage.
    static func notAPosition(_ text: String) -> CommandFailure {
        CommandFailure("`\(text)` is not a position; give NUMBER or NUMBER@EPOCH-LOG", code: 2)
    }

    /// A text that is not the id of an object; wrong usage.
    static func notAnObject(_ text: String) -> CommandFailure {
        CommandFailure(notAnObjectID(text), code: 2)
    }

    /// The message for a text that is not the id of an object.
    static func notAnObjectID(_ text: String) -> String {
        "`\(text)` is not an object id; give ENTITY/NUMBER, such as Team/3"
    }
}
