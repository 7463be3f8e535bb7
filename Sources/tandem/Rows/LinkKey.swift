import Tandem

/// The value of a unique attribute, which identifies the target of a link.
///
/// Strings are compared byte by byte, as in the store; Swift's `==` also accepts canonically
/// equivalent strings.
struct LinkKey: Hashable, Sendable {
    let value: PropertyValue

    static func == (a: LinkKey, b: LinkKey) -> Bool {
        switch (a.value, b.value) {
        case (.string(let a), .string(let b)), (.url(let a), .url(let b)):
            a.utf8.elementsEqual(b.utf8)
        default: a.value == b.value
        }
    }

    func hash(into hasher: inout Hasher) {
        switch value {
        case .string(let text), .url(let text):
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        default: hasher.combine(value)
        }
    }
}
