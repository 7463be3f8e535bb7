import ArgumentParser
import Tandem

extension ConsumersCommand {
    /// `tandem consumers register`.
    struct Register: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a consumer, for which the journal is kept.",
            discussion:
                "A consumer that is already registered keeps its position, unless it is expired.")

        @OptionGroup var consumer: ConsumerName

        @Option(
            help: ArgumentHelp(
                "The position after which the consumer reads; the last by default.",
                valueName: "position"))
        var at: String?

        func run() throws {
            let container = consumer.global.container()
            let start = try ConsumerName.position(at, container)
            printLine(
                try container.registerConsumer(consumer.name, at: start).description)
        }
    }

    /// `tandem consumers acknowledge`.
    struct Acknowledge: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Acknowledge transactions up to a position.")

        @OptionGroup var consumer: ConsumerName

        @Option(
            help: ArgumentHelp(
                "The position to acknowledge; the last by default.", valueName: "position"))
        var at: String?

        func run() throws {
            let container = consumer.global.container()
            let end = try ConsumerName.position(at, container) ?? container.end()
            let known = try ConsumerState(consumer)
            printLine(try container.acknowledge(end, asConsumer: known.name).description)
        }
    }

    /// `tandem consumers remove`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Remove a consumer, after confirmation.")

        @OptionGroup var consumer: ConsumerName

        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
        var yes = false

        func run() throws {
            let known = try ConsumerState(consumer)
            try Confirmation.ask(
                "remove consumer \(known.name), which needs \(known.need)?", unless: yes)
            guard try consumer.global.container().removeConsumer(consumer.name) else {
                throw ConsumerState.noConsumer(consumer.name)
            }
        }
    }

    /// `tandem consumers reset`.
    struct Reset: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Move a consumer to another position, after confirmation.",
            discussion: """
                A consumer that is moved back reads acknowledged transactions again, if they are still in the journal. \
                A consumer that is moved forward skips transactions. An expired consumer becomes active again.
                """)

        @OptionGroup var consumer: ConsumerName

        @Option(
            help: ArgumentHelp(
                "The position after which the consumer reads; the last by default.",
                valueName: "position"))
        var to: String?

        @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
        var yes = false

        func run() throws {
            let known = try ConsumerState(consumer)
            let container = consumer.global.container()
            let target = try ConsumerName.position(to, container)
            let end = try target ?? container.end()
            try Confirmation.ask(known.question(to: end.number), unless: yes)
            printLine(
                try container.resetConsumer(consumer.name, to: end).description)
        }
    }
}
