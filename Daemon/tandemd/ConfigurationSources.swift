import Configuration
import TandemDaemon
import TandemIO

/// What flags, environment and file say, in this order of precedence.
struct ConfigurationSources {
    var flags: [GivenSetting] = []
    var environment: [GivenSetting] = []
    var file: [GivenSetting] = []

    private var all: [[GivenSetting]] { [flags, environment, file] }

    /// Gives the assembly what counts for every key.
    func fill(_ assembly: inout SettingAssembly) {
        for given in all { assembly.refuseUnknown(given) }
        let reader = ConfigReader(providers: all.map(Self.provider))
        for setting in Setting.all {
            // Everything is kept as text: what a number or a list is, the key decides.
            let entries = reader.stringArray(forKey: ConfigKey(setting.name)) ?? []
            guard let origin = entries.first else { continue }
            let values =
                setting.isList
                ? entries.dropFirst().flatMap(Self.words) : Array(entries.dropFirst())
            assembly.set(GivenSetting(setting.name, values, from: origin))
        }
        assembly.finish()
    }

    /// A provider of the values, before each of which its origin stands.
    private static func provider(_ given: [GivenSetting]) -> any ConfigProvider {
        var values: [AbsoluteConfigKey: ConfigValue] = [:]
        for setting in given {
            let key = AbsoluteConfigKey(ConfigKey(setting.name))
            values[key] = ConfigValue(
                .stringArray([setting.origin] + setting.values), isSecret: false)
        }
        return InMemoryProvider(values: values)
    }

    /// The words of a list that is written with commas.
    private static func words(_ text: String) -> [String] {
        text.split(separator: ",").map { part in
            String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }

    /// What the variables of the environment say.
    static func environmentSettings() -> [GivenSetting] {
        Setting.all.compactMap { setting in
            ThisProcess.environment(setting.variable).map { value in
                GivenSetting(setting.name, [value], from: setting.variable)
            }
        }
    }

    /// What is wrong with variables that begin like the daemon's but set nothing.
    static func unknownVariables() -> [String] {
        let known = Setting.all.map(\.variable) + ["TANDEMD_CONFIG"]
        let names = ThisProcess.environment(prefixed: Setting.variablePrefix).keys
        return names.filter { !known.contains($0) }.sorted().map { name in
            "there is no variable \(name)"
                + (nearest(to: name, among: known).map { "; did you mean \($0)?" }
                    ?? "; see tandemd --help")
        }
    }
}
