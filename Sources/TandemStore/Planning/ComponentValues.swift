import TandemModel
import TandemQuery

/// The values that constraints allow for one property, as bytes of the property's key component.
enum ComponentValues {
    /// Single values.
    case points([[UInt8]])
    /// Ranges of components.
    case ranges([KeyRange])

    init(_ condition: SlotConstraint.Condition) {
        switch condition {
        case .equals(let value): self = .points([Self.component(value)])
        case .anyOf(let values): self = .points(values.map(Self.component))
        case .prefix(let text):
            // Without its end mark, the component of a text is a prefix of the components of all
            // texts that begin with the text.
            self = .ranges([KeyRange(prefix: Self.component(.string(text)).dropLast(2))])
        case .range(let lower, let upper):
            self = .ranges([KeyRange(lower: Self.start(lower), upper: Self.end(upper))])
        }
    }

    /// Creates the values that satisfy all constraints on a property; nil without constraints.
    init?(of constraints: [SlotConstraint]) {
        guard let first = constraints.first else { return nil }
        self = constraints.dropFirst().reduce(ComponentValues(first.condition)) {
            $0.intersection(ComponentValues($1.condition))
        }
    }

    private static func component(_ value: PropertyValue) -> [UInt8] {
        var encoder = KeyEncoder()
        encoder.append(value)
        return encoder.bytes
    }

    /// The component of nil.
    static let null: [UInt8] = [0]

    /// Returns the inclusive lower end of a range, which never includes nil.
    private static func start(_ bound: SlotConstraint.Bound?) -> [UInt8] {
        guard let bound else { return [1] }
        let component = component(bound.value)
        return bound.inclusive ? component : KeyRange.successor(component) ?? component
    }

    private static func end(_ bound: SlotConstraint.Bound?) -> [UInt8] {
        guard let bound else { return [2] }
        let component = component(bound.value)
        return bound.inclusive ? KeyRange.successor(component) ?? component : component
    }

    var spans: [KeyRange] {
        switch self {
        case .points(let points): points.map { KeyRange(prefix: $0) }
        case .ranges(let ranges): ranges
        }
    }

    func intersection(_ other: ComponentValues) -> ComponentValues {
        switch (self, other) {
        case (.points(let points), .points(let others)):
            // Lists of values may be long, so they are searched as a set.
            let others = Set(others)
            return .points(points.filter(others.contains))
        case (.points(let points), _):
            let spans = other.spans
            return .points(points.filter { point in spans.contains { $0.contains(point) } })
        case (_, .points): return other.intersection(self)
        case (.ranges(let mine), .ranges(let its)):
            return .ranges(mine.flatMap { range in its.map { range.intersection($0) } })
        }
    }
}
