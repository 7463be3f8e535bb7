/// A property of code that takes bytes from outside, held for any bytes whatever.
///
/// The same targets are run by `Tests/Fuzzing` under libFuzzer, and by `FuzzTests` over the committed corpus.
public struct FuzzTarget: Sendable {
    /// The name, which is also its corpus's.
    public let name: String
    /// Tries one input; throws ``FuzzFinding`` when a property does not hold.
    ///
    /// What is wrong with the input itself is no finding: that it is refused is what is wanted.
    public let run: @Sendable ([UInt8]) throws -> Void
    /// Inputs made by the real encoders, to begin with.
    public let seeds: @Sendable () -> [[UInt8]]

    init(
        _ name: String, seeds: @escaping @Sendable () -> [[UInt8]],
        run: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.run = run
        self.seeds = seeds
    }

    /// All of them.
    public static let all: [FuzzTarget] = [
        .frames, .messages, .predicates, .requests, .rows, .transactions, .journal, .models, .texts,
    ]

    /// The target of a name.
    public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A property that did not hold.
public struct FuzzFinding: Error, CustomStringConvertible {
    /// What was expected.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// Throws ``FuzzFinding`` unless a property holds.
func hold(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw FuzzFinding(message()) }
}
