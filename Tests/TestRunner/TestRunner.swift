import ArgumentParser
import Foundation
import TandemIO

/// The runner of `make test` and `make check`: each suite in a process of its own.
@main struct TestRunner: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "TestRunner",
        abstract: "Run tests, each suite in a process of its own.",
        subcommands: [TestCommand.self, CheckCommand.self], defaultSubcommand: TestCommand.self)
}
