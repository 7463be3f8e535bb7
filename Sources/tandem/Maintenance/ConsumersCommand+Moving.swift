import ArgumentParser
import Tandem

extension ConsumersCommand {
    /// `tandem consumers register`.
    struct Register: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Has the journal kept for a name.",
            discussion: "One that is registered keeps its place, unless it is expired.")

        @OptionGroup var consumer: ConsumerName

        @Option(
            help: ArgumentHelp(
                "It needs what comes after this one; the end if not given.",
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
            abstract: "Gives up what a name needs up to a position; never goes back.")

        @OptionGroup var consumer: ConsumerName

        @Option(
            help: ArgumentHelp(
                "The last one it needs no more; the end if not given.", valueName: "position"))
        var at: String?

        func run() throws {
            let container = consumer.global.container()
            let end = try ConsumerName.position(at, container) ?? container.end()
            printLine(try container.acknowledge(end, asConsumer: consumer.name).description)
        }
    }

    /// `tandem consumers remove`.
    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Keeps nothing for a name any more; asks before.")

        @OptionGroup var consumer: ConsumerName

        @Flag(name: .shortAndLong, help: "Does not ask.")
        var yes = false

        func run() throws {
            let known = try ConsumerState(consumer)
            try Confirmation.ask(
                "keep nothing for \(known.name) any more, which needs \(known.need)?", unless: yes)
            guard try consumer.global.container().removeConsumer(consumer.name) else {
                throw CommandFailure("there is no consumer \(consumer.name)")
            }
        }
    }

    /// `tandem consumers reset`.
    struct Reset: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Puts a consumer at a position, also back; asks before.",
            discussion: """
                Back it reads again what it has acknowledged, as far as that is kept; forward it never sees what \
                lies between. One that is expired begins anew there.
                """)

        @OptionGroup var consumer: ConsumerName

        @Option(
            help: ArgumentHelp(
                "It needs what comes after this one; the end if not given.",
                valueName: "position"))
        var to: String?

        @Flag(name: .shortAndLong, help: "Does not ask.")
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
