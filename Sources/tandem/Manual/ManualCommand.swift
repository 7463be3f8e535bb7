import ArgumentParser
import Tandem
import TandemIO

/// `tandem manual`: creates a manual page from a program's help dump, for `make install`.
struct ManualCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual",
        abstract: "Make a manual page from the output of --experimental-dump-help.",
        shouldDisplay: false)

    @Option(help: "The section of the manual.")
    var section = 1

    @Option(help: "A related page, such as tandemd(8); may be repeated.")
    var see: [String] = []

    func run() throws {
        var bytes: [UInt8] = []
        let input = StandardInput()
        while let line = try input.readLine() { bytes += line + [10] }
        guard
            let program = try? JSON(parsing: String(decoding: bytes, as: UTF8.self))["command"]
        else {
            throw CommandFailure(
                "standard input is not the output of a program's --experimental-dump-help", code: 2)
        }
        StandardStream.output.write(ManualPage(program, section: section, see: see).text)
    }
}
