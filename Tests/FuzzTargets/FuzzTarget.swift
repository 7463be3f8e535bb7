/// A property of code that processes external bytes, which must hold for any bytes.
///
/// `Tests/Fuzzing` runs the same targets under libFuzzer, and `FuzzTests` runs them on the
/// committed corpus.
public struct FuzzTarget: Sendable {
    /// The name of the target and its corpus.
    public let name: String
    /// Tries one input; throws ``FuzzFinding`` if a property does not hold.
    ///
    /// An error in the input itself is not a finding: such an input must be rejected.
    public let run: @Sendable ([UInt8]) throws -> Void
    /// Returns initial inputs made by the real encoders.
    public let seeds: @Sendable () -> [[UInt8]]

    init(
        _ name: String, seeds: @escaping @Sendable () -> [[UInt8]],
        run: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.run = run
        self.seeds = seeds
    }

    /// All targets.
    public static let all: [FuzzTarget] = [
        .frames, .messages, .predicates, .requests, .rows, .transactions, .journal, .models, .texts,
    ]

    /// Returns the target with a name.
    public static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// A property that did not hold.
public struct FuzzFinding: Error, CustomStringConvertible {
    /// The violation.
    public let description: String

    init(_ description: String) { self.description = description }
}

/// Throws ``FuzzFinding`` unless a property holds.
func hold(_ condition: Bool, _ message: @autoclosure () -> String) throws {
    if !condition { throw FuzzFinding(message()) }
}
