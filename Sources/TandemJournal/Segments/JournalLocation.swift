import TandemIO

/// The location and options of a journal.
struct JournalLocation {
    var directory: String
    var fileSystem: any FileSystem
    var options: JournalOptions
}
