import ArgumentParser
import Tandem
import TandemIO

/// `tandem manual`, for `make install`: creates a manual page from a program's help dump.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Makes a page of the manual of what --experimental-dump-help says.",
        shouldDisplay: false)

    @Option(help: "The section of the manual.")
    var section = 1

    @Option(help: "A page to see also, as tandemd(8); may be repeated.")
    var see: [String] = []

    func run() throws {
        var bytes: [UInt8] = []
        let input = StandardInput()
        while let line = try input.readLine() { bytes += line + [10] }
        guard
            let program = try? JSON(parsing: String(decoding: bytes, as: UTF8.self))["command"]
        else {
            throw CommandFailure(
                "standard input is not what --experimental-dump-help of a program says", code: 2)
        }
        StandardStream.output.write(ManualPage(program, section: section, see: see).text)
    }
}
